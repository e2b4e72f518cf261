"""FitGpp and the policies it is compared with."""
