"""How large the errors are: results are hidden, predicted and compared, by these models and by published ones."""
