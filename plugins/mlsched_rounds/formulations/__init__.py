"""The rounds question as integer programs."""
