"""Writes images/pillow_images.json: what Pillow makes of an image by the ops of RandAugment.

Ops and strengths are those of torchvision.transforms.RandAugment for Pillow's images (31 strengths, nearest
interpolation). Usage: record_image_ops.py > images/pillow_images.json, with the Python packages numpy and pillow.
"""
import json
import math

import numpy
from PIL import Image, ImageEnhance, ImageOps

# In the order of ImageOp.
OPS = ["identity", "shear_x", "shear_y", "translate_x", "translate_y", "rotate", "brightness", "color", "contrast",
       "sharpness", "posterize", "solarize", "autocontrast", "equalize"]


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
    """Pixels as image_to_change() of images/augment_ops_test.cpp makes them."""
    count = height * width * channels
    values = [20 + (i * i * 7 + i * 31) % 211 for i in range(count)]
    array = numpy.array(values, dtype=numpy.uint8).reshape(height, width, channels)
    return Image.fromarray(array[:, :, 0] if channels == 1 else array)


CASES = [("identity", 9, 1), ("shear_x", 9, 1), ("shear_x", 30, -1), ("shear_y", 9, 1), ("shear_y", 30, -1),
         ("translate_x", 9, 1), ("translate_x", 20, -1), ("translate_y", 9, -1), ("translate_y", 30, 1),
         ("rotate", 9, 1), ("rotate", 30, -1), ("brightness", 9, 1), ("brightness", 30, -1), ("color", 9, 1),
         ("color", 30, -1), ("contrast", 9, 1), ("contrast", 30, -1), ("sharpness", 9, 1), ("sharpness", 30, -1),
         ("posterize", 9, 1), ("posterize", 30, 1), ("solarize", 9, 1), ("solarize", 20, 1), ("autocontrast", 9, 1),
         ("equalize", 9, 1)]


def main():
    images, warps = [], {}
    for channels in (1, 3):
        for op, magnitude, sign in CASES:
            side = 18 if op == "equalize" else 9
            image = changed(pattern_image(side, side + 3, channels), op, magnitude, sign)
            images.append({"op": OPS.index(op), "name": op, "magnitude": magnitude, "negative": sign < 0, "side": side,
                           "channels": channels, "pixels": image.tobytes().hex()})
    # A map with all its parts, bilinear: clockwise by 20 degrees, sheared by 10, 0.9 times as large, moved.
    for channels in (1, 3):
        image = warped(pattern_image(9, 12, channels), None, 20.0, (1.5, -0.75), 0.9, (10.0, 0.0), Image.BILINEAR)
        warps[channels] = image.tobytes().hex()
    print('{"images": [\n' + ",\n".join(json.dumps(image) for image in images) + "\n],")
    print('"warps": ' + json.dumps(warps) + "}")


main()
