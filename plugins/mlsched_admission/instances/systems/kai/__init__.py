"""KAI-Scheduler as a second program: devices, fair shares, orders, and the actions of one session.

Rules carry the numbers of `docs/problems/admission-rules.md` (A1 to A12).
"""
