"""Starts and keeps alive every process of Hone; knows the standard library only, never Django."""
