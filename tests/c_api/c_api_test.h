/* What the parts of c_api_test share. */
#ifndef C_API_TEST_H
#define C_API_TEST_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <spire/c.h>

enum { samples = 256, batch = 32, classes = 2 };

extern int failures;

#define EXPECT(holds)                                                                        \
  do {                                                                                       \
    if (!(holds)) {                                                                          \
      printf("%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #holds, spire_last_error()); \
      ++failures;                                                                            \
    }                                                                                        \
  } while (0)

/* The call fails with this status, and its message has these words. */
#define EXPECT_ERROR(call, status, words)                \
  do {                                                   \
    EXPECT((call) == (status));                          \
    EXPECT(strstr(spire_last_error(), (words)) != NULL); \
  } while (0)

/* Points of a square, and on which side of its diagonal they are. */
extern float points[samples][2];
extern int32_t labels[samples];
extern const int64_t point_shape[2];
extern const spire_array arrays[2];      /* of them all */
extern const spire_array first_batch[2]; /* of the first `batch` */

spire_config* make_config(const char* word);
spire_config* config_of_run(const char* folder, const char* name);
spire_trainer* make_trainer(void);

void test_errors(const char* folder);
void test_null(void);
void test_sizes(void);

#endif
