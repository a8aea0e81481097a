"""
A map of tastes
===============

Films near each other are liked by the same members of a film club. Each dot is a member. The ellipse shows where
somebody new lies after four answers.
"""

import rather

model = rather.fit(rather.Comparisons.from_frame(rather.datasets.film_club()))
answers = [
    ("Amélie", "Alien"),
    ("Before Sunrise", "Die Hard"),
    ("La La Land", "Psycho"),
    ("Paddington 2", "The Shining"),
]
person = model.fold_in(answers)
rather.plot.taste_map(model, person)
