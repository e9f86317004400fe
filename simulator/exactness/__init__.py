"""The rule laboratory: twelve rules, their laws, experiments over them."""
