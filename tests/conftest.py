"""Loads pytest's own means of testing plugins, which only the outermost conftest can."""

pytest_plugins = ["pytester"]
