"""The main job shown: training that lives through the killing of a worker and of the server, and its bill."""
