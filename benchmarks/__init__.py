"""Figures of speed and quality, each as ratios beside a reference in the same run.

``python -m benchmarks list`` names them, ``python -m benchmarks run NAME [--json]`` runs one and
exits with 1 where a target is missed.
"""
