// TIFF files.
#pragma once
#include <tiffio.h>

#include "tests/data/images/image_files.h"

namespace spire {

struct TiffKind {
  const char* mode = "wl";  // b: the highest byte of numbers first
  uint16_t compression = COMPRESSION_NONE;
  uint16_t samples = 3;  // of a pixel: 1 gray, 3 colors, 4 with transparency
  uint16_t orientation = ORIENTATION_TOPLEFT;
};

// pixels (H, W, samples).
inline Bytes tiff_bytes(const Bytes& pixels, ImageSize size, const TiffKind& kind = {}) {
  Folder folder;
  std::string path = (folder / "image.tif").string();
  TIFF* tiff = TIFFOpen(path.c_str(), kind.mode);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<uint32_t>(size.width));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<uint32_t>(size.height));
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, kind.samples);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
               kind.samples == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, kind.compression);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, kind.orientation);
  if (kind.samples == 4) {
    uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
  }
  auto row = static_cast<size_t>(size.width * kind.samples);
  for (size_t y = 0; y < static_cast<size_t>(size.height); ++y)
    TIFFWriteScanline(tiff, const_cast<uint8_t*>(pixels.data()) + y * row, static_cast<uint32_t>(y),
                      0);
  TIFFClose(tiff);
  return file_bytes(path);
}

}  // namespace spire
