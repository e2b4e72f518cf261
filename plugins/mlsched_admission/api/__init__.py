"""Public functions of admission: judge a decision, prove the optimum."""
