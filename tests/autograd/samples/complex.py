"""Samples of the ops on complex numbers and their parts."""

from sample_values import complex_values, signed

SAMPLES = {
    "conj": [(complex_values(2, 3),), (signed(3),), (complex_values(),)],
    "real": [(complex_values(2, 3),), (signed(3),), (complex_values(2, 0),)],
    "imag": [(complex_values(2, 3),), (complex_values(),)],
    "view_as_real": [(complex_values(2, 3),), (complex_values(),)],
    "view_as_complex": [(signed(2, 3, 2),), (signed(2),)],
    "complex": [(signed(2, 3), signed(3)), (signed(), signed(2))],
    "polar": [(signed(2, 3), signed(3))],
    "angle": [(complex_values(2, 3),), (signed(3),)],
}
