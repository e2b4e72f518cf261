"""Decision rules of Kueue, the Kubernetes scheduler, KEP-5710, KAI and Slurm."""
