"""What people ask of admission: a decision judged, the optimum proved."""
