#!/usr/bin/env python3
"""Writes a table of 5000 made-up houses, as people have them: a column of row numbers without a
name, a column of words, empty fields, and prices. The same numbers each time.

    python3 docs/examples/houses.py houses.csv
    trainer --config configs/houses_mlp.yaml
"""
import csv
import random
import sys

PLACES = {"<1H OCEAN": 90_000, "INLAND": 0, "NEAR BAY": 120_000, "NEAR OCEAN": 110_000}


def house(draw):
    place = draw.choices(list(PLACES), weights=[44, 32, 11, 13])[0]
    income = draw.lognormvariate(1.2, 0.45)  # 10 000 a year
    rooms = round(draw.lognormvariate(7.6, 0.6))
    age = draw.randint(1, 52)
    bedrooms = round(rooms * draw.uniform(0.17, 0.25))
    price = 40_000 + 38_000 * income + PLACES[place] + 900 * age + 12 * bedrooms
    price *= draw.lognormvariate(0, 0.1)  # what the columns do not tell: a tenth
    return [age, rooms, "" if draw.random() < 0.02 else bedrooms, f"{income:.4f}", place,
            f"{price:.1f}"]


def main():
    draw = random.Random(7)
    with open(sys.argv[1], "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["", "housing_median_age", "total_rooms", "total_bedrooms",
                        "median_income", "ocean_proximity", "median_house_value"])
        for row in range(5000):
            table.writerow([row] + house(draw))


if __name__ == "__main__":
    main()
