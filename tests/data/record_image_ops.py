"""Writes images/pillow_images.h: what Pillow makes of an image by the ops of RandAugment.

Ops and strengths are those of torchvision.transforms.RandAugment for Pillow's images (31 strengths, nearest
interpolation). Usage: record_image_ops.py > images/pillow_images.h, with the Python packages numpy and pillow.
"""
import math

import numpy
from PIL import Image, ImageEnhance, ImageOps



def inverse_affine(center, angle, translate, scale, shear):
    """torchvision.transforms.functional._get_inverse_affine_matrix"""
    rot, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    (cx, cy), (tx, ty) = center, translate
    a = math.cos(rot - sy) / math.cos(sy)
    b = -math.cos(rot - sy) * math.tan(sx) / math.cos(sy) - math.sin(rot)
    c = math.sin(rot - sy) / math.cos(sy)
    d = -math.sin(rot - sy) * math.tan(sx) / math.cos(sy) + math.cos(rot)
    m = [x / scale for x in (d, -b, 0.0, -c, a, 0.0)]
    m[2] += m[0] * (-cx - tx) + m[1] * (-cy - ty) + cx
    m[5] += m[3] * (-cx - tx) + m[4] * (-cy - ty) + cy
    return m


def warped(image, center=None, angle=0.0, translate=(0, 0), scale=1.0, shear=(0.0, 0.0), how=Image.NEAREST):
    center = center or (image.width * 0.5, image.height * 0.5)
    matrix = inverse_affine(center, angle, translate, scale, shear)
    return image.transform(image.size, Image.AFFINE, matrix, how)


def changed(image, op, magnitude, sign):
    """torchvision.transforms.autoaugment._apply_op"""
    share = magnitude / 30
    by = sign * share
    shear = math.degrees(math.atan(0.3 * by))
    if op == "identity": return image
    if op == "shear_x": return warped(image, (0, 0), shear=(shear, 0.0))
    if op == "shear_y": return warped(image, (0, 0), shear=(0.0, shear))
    if op == "translate_x": return warped(image, translate=(int(150 / 331 * image.width * by), 0))
    if op == "translate_y": return warped(image, translate=(0, int(150 / 331 * image.height * by)))
    if op == "rotate": return image.rotate(30 * by, Image.NEAREST)
    if op == "brightness": return ImageEnhance.Brightness(image).enhance(1 + 0.9 * by)
    if op == "color": return ImageEnhance.Color(image).enhance(1 + 0.9 * by)
    if op == "contrast": return ImageEnhance.Contrast(image).enhance(1 + 0.9 * by)
    if op == "sharpness": return ImageEnhance.Sharpness(image).enhance(1 + 0.9 * by)
    if op == "posterize": return ImageOps.posterize(image, 8 - round(magnitude / (30 / 4)))
    if op == "solarize": return ImageOps.solarize(image, 255 * (1 - share))
    if op == "autocontrast": return ImageOps.autocontrast(image)
    if op == "equalize": return ImageOps.equalize(image)
    raise ValueError(op)


def pattern_image(height, width, channels):
    """Pixels as image_to_change() of images/rand_augment_test.cpp makes them."""
    count = height * width * channels
    values = [20 + (i * i * 7 + i * 31) % 211 for i in range(count)]
    array = numpy.array(values, dtype=numpy.uint8).reshape(height, width, channels)
    return Image.fromarray(array[:, :, 0] if channels == 1 else array)


def hex_lines(image):
    text = image.tobytes().hex()
    return "\n".join(f'     "{text[i:i + 88]}"' for i in range(0, len(text), 88))


CASES = [("identity", 9, 1), ("shear_x", 9, 1), ("shear_x", 30, -1), ("shear_y", 9, 1), ("shear_y", 30, -1),
         ("translate_x", 9, 1), ("translate_x", 20, -1), ("translate_y", 9, -1), ("translate_y", 30, 1),
         ("rotate", 9, 1), ("rotate", 30, -1), ("brightness", 9, 1), ("brightness", 30, -1), ("color", 9, 1),
         ("color", 30, -1), ("contrast", 9, 1), ("contrast", 30, -1), ("sharpness", 9, 1), ("sharpness", 30, -1),
         ("posterize", 9, 1), ("posterize", 30, 1), ("solarize", 9, 1), ("solarize", 20, 1), ("autocontrast", 9, 1),
         ("equalize", 9, 1)]


def main():
    print("// Written by tests/data/record_image_ops.py: images by Pillow, as hexadecimal digits.")
    print("#pragma once\n#include <vector>\n\n#include \"engine/data/images/pixel_changes.h\"\n\nnamespace spire {\n")
    print("struct PillowImage {\n  ImageOp op;\n  double magnitude;\n  bool negative;\n  int64_t side, channels;\n"
          "  const char* pixels;\n};\n")
    print("// clang-format off\ninline const std::vector<PillowImage> pillow_images = {")
    for channels in (1, 3):
        for op, magnitude, sign in CASES:
            side = 18 if op == "equalize" else 9
            image = changed(pattern_image(side, side + 3, channels), op, magnitude, sign)
            negative = "true" if sign < 0 else "false"
            print(f"    {{ImageOp::{op}, {magnitude}, {negative}, {side}, {channels},\n{hex_lines(image)}}},")
    print("};\n")
    print("// A map with all its parts, bilinear: clockwise by 20 degrees, sheared by 10, 0.9 times as large, moved "
          "by (1.5, -0.75).")
    for channels in (1, 3):
        image = warped(pattern_image(9, 12, channels), None, 20.0, (1.5, -0.75), 0.9, (10.0, 0.0), Image.BILINEAR)
        print(f"inline const char* const pillow_warp_{channels} =\n{hex_lines(image)};")
    print("// clang-format on\n\n}  // namespace spire")


main()
