"""How an image is built: what it is made of, and the definition or Dockerfile that makes it. Start at :mod:`modak.recipes.plan`."""
