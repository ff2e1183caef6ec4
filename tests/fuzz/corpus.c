/* Run a harness over every file of a folder, without libFuzzer. */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path) {
  static uint8_t data[2 * 1024 * 1024];
  FILE *file = fopen(path, "rb");
  if (file == NULL) return -1;
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  uint8_t *exact = malloc(size + 1); /* so that a sanitizer sees a step too far */
  if (exact == NULL) return -1;
  for (size_t i = 0; i < size; i++) exact[i] = data[i];
  int result = LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return result;
}

int main(int argc, char **argv) {
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  int files = 0;
  if (folder == NULL) {
    fprintf(stderr, "corpus: the folder of a corpus is expected\n");
    return 4;
  }
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[PATH_MAX];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    fprintf(stderr, "%s\n", path); /* the last one named is the one that failed */
    if (run_file(path) != 0) return 1;
    files++;
  }
  closedir(folder);
  printf("%d files\n", files);
  return files > 5 ? 0 : 5;
}
