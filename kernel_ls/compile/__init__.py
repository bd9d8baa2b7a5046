"""Running the user's own Triton in a process of its own: interpreter, worker, results, their cache."""
