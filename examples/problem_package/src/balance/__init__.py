"""Balance: which jobs move to another machine so that the fullest machine has less to do."""
