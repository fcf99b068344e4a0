"""Two towers that find products for a person, and a head that says what becomes of showing one: clicks and purchases."""
