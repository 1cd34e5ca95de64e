// JPEG and PNG files made in memory.
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>

// jpeglib.h needs the two before it.
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include "engine/data/images/image_formats.h"
#include "tests/data/test_files.h"

namespace spire {

// Smooth, as photographs are, and different in each channel and for each `seed`.
inline RgbImage smooth_image(int64_t height, int64_t width, int64_t seed = 0) {
  RgbImage image{{height, width}, {}};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < 3; ++c)
        image.pixels.push_back(static_cast<uint8_t>(
            40 + 100 * y / height + (x * (c + 1) * 25) / width + (seed * 17 + 5 * c) % 30));
  return image;
}

struct JpegOptions {
  int quality = 95;
  bool progressive = false;
  int components = 3;        // 1 gray, 3 RGB, 4 CMYK as Adobe's programs write it
  bool adobe_marker = true;  // of CMYK
  int orientation = 0;       // of Exif; 0: none is stated
};

// What Exif says of an orientation: a directory of one entry.
inline Bytes exif_bytes(int orientation, bool big = true) {
  auto stated = static_cast<uint8_t>(orientation);
  if (big)
    return {'M', 'M', 0, 42, 0, 0, 0,      8, 0, 1, 1, 0x12, 0,
            3,   0,   0, 0,  1, 0, stated, 0, 0, 0, 0, 0,    0};
  return {'I', 'I', 42, 0, 8, 0,      0, 0, 1, 0, 0x12, 1, 3,
          0,   1,   0,  0, 0, stated, 0, 0, 0, 0, 0,    0, 0};
}

// Pixels (H, W, components).
inline Bytes jpeg_bytes(const RgbImage& image, const JpegOptions& options = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &memory, &bytes);
  info.image_height = static_cast<JDIMENSION>(image.size.height);
  info.image_width = static_cast<JDIMENSION>(image.size.width);
  info.input_components = options.components;
  info.in_color_space = options.components == 1   ? JCS_GRAYSCALE
                        : options.components == 3 ? JCS_RGB
                                                  : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  if (options.components == 3)
    for (int c = 0; c < 3; ++c)
      info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  if (options.progressive) jpeg_simple_progression(&info);
  if (options.components == 4) info.write_Adobe_marker = options.adobe_marker ? TRUE : FALSE;
  jpeg_start_compress(&info, TRUE);
  if (options.orientation != 0) {
    Bytes exif = exif_bytes(options.orientation);
    const Bytes mark = {'E', 'x', 'i', 'f', 0, 0};
    exif.insert(exif.begin(), mark.begin(), mark.end());
    jpeg_write_marker(&info, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
  }
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<unsigned char*>(image.pixels.data()) +
                static_cast<size_t>(info.next_scanline) * info.image_width *
                    static_cast<unsigned>(options.components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes file(memory, memory + bytes);
  std::free(memory);
  return file;
}

// Pixels of one of libpng's formats: PNG_FORMAT_GRAY, _RGB, _RGBA, ...; 16 bits a channel with
// _LINEAR_ ones.
inline Bytes png_bytes(const void* pixels, ImageSize size, png_uint_32 format = PNG_FORMAT_RGB) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(size.height);
  image.width = static_cast<png_uint_32>(size.width);
  image.format = format;
  png_alloc_size_t bytes = 0;
  EXPECT_NE(png_image_write_to_memory(&image, nullptr, &bytes, 0, pixels, 0, nullptr), 0);
  Bytes file(bytes);
  EXPECT_NE(png_image_write_to_memory(&image, file.data(), &bytes, 0, pixels, 0, nullptr), 0)
      << image.message;
  file.resize(bytes);
  return file;
}

inline Bytes png_bytes(const RgbImage& image) {
  return png_bytes(image.pixels.data(), image.size);
}

// Returns the message of the Error for which the file is not decoded.
inline std::string image_refusal(std::span<const uint8_t> file) {
  RgbImage image;
  return message_of(Category::data, [&] { decode_image(file, 1, image); });
}

// The file with one more chunk, behind its header.
inline Bytes with_chunk(Bytes png, const std::string& name, const Bytes& content) {
  Bytes chunk;
  auto append = [&](size_t number) {
    for (int shift = 24; shift >= 0; shift -= 8)
      chunk.push_back(static_cast<uint8_t>(number >> shift));
  };
  append(content.size());
  chunk.insert(chunk.end(), name.begin(), name.end());
  chunk.insert(chunk.end(), content.begin(), content.end());
  append(crc32(0, chunk.data() + 4, static_cast<uInt>(chunk.size() - 4)));
  png.insert(png.begin() + 33, chunk.begin(), chunk.end());
  return png;
}

// A PNG file of numbers that are stored as they are. rows: of a byte that begins each, 0, and its
// numbers, highest bytes first. kind: libpng's PNG_COLOR_TYPE_.
inline Bytes stored_png(ImageSize size, int bits, int kind, const Bytes& rows) {
  Bytes png = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  png.resize(33);  // behind which chunks are put
  Bytes packed(compressBound(rows.size()));
  uLongf bytes = packed.size();
  EXPECT_EQ(compress(packed.data(), &bytes, rows.data(), rows.size()), Z_OK);
  packed.resize(bytes);
  Bytes header(13);
  header[3] = static_cast<uint8_t>(size.width);
  header[7] = static_cast<uint8_t>(size.height);
  header[8] = static_cast<uint8_t>(bits);
  header[9] = static_cast<uint8_t>(kind);
  Bytes whole = with_chunk(with_chunk(with_chunk(png, "IEND", {}), "IDAT", packed), "IHDR", header);
  whole.erase(whole.begin() + 8, whole.begin() + 33);
  return whole;
}

}  // namespace spire
