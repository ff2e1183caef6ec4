#include "sim/disk.h"

#include <sqlite3.h>
#include <string.h>

#include "tests/support.h"

static struct sim_disk disk;
enum { ME = 1, OTHER = 2, THIRD = 4 }; /* handle bits */

static int disk_setup(void **state) {
  (void)state;
  sim_disk_init(&disk, "/disk-test.db");
  return 0;
}

static int disk_teardown(void **state) {
  (void)state;
  sim_disk_release(&disk);
  return 0;
}

static int write_at(enum sim_file_kind kind, const char *text, size_t offset) {
  return sim_disk_write(&disk, kind, ME, text, strlen(text), offset);
}

static void assert_holds(enum sim_file_kind kind, const char *text) {
  assert_true(disk.file[kind].exists);
  assert_int_equal(disk.file[kind].size, strlen(text));
  assert_memory_equal(disk.file[kind].bytes, text, strlen(text));
}

/* A synced database file of four pieces of 64 bytes: aaaa…bbbb…cccc…dddd… */
enum { PIECE = 64, PIECES = 4 };

static void fill(char *out, const char *letters) {
  for (size_t i = 0; letters[i] != '\0'; i++) memset(out + i * PIECE, letters[i], PIECE);
  out[strlen(letters) * PIECE] = '\0';
}

static void make_synced(enum sim_file_kind kind, const char *letters) {
  char text[1024];
  fill(text, letters);
  sim_disk_create_file(&disk, kind);
  assert_int_equal(write_at(kind, text, 0), SQLITE_OK);
  assert_int_equal(sim_disk_sync(&disk, kind, ME), SQLITE_OK);
}

/* The first letter of each piece; a piece of mixed letters reads '?'. */
static void letters_of(enum sim_file_kind kind, char *out) {
  const struct sim_file *file = &disk.file[kind];
  size_t pieces = file->size / PIECE;
  for (size_t i = 0; i < pieces; i++) {
    out[i] = (char)file->bytes[i * PIECE];
    for (size_t b = 1; b < PIECE; b++) {
      if (file->bytes[i * PIECE + b] != file->bytes[i * PIECE]) out[i] = '?';
    }
  }
  out[pieces] = '\0';
}

/* ---- power loss ---- */

static void what_was_synced_survives_any_power_loss(void **state) {
  (void)state;
  for (uint64_t die = 0; die < 50; die++) {
    make_synced(SIM_FILE_DATABASE, "abcd");
    assert_false(sim_disk_unsynced(&disk));
    sim_disk_settle(&disk, (enum sim_fate)(die % 3), die);
    char letters[16];
    letters_of(SIM_FILE_DATABASE, letters);
    assert_string_equal(letters, "abcd");
  }
}

static void unsynced_writes_are_lost_or_kept_whole(void **state) {
  (void)state;
  char text[1024];
  make_synced(SIM_FILE_DATABASE, "abcd");
  fill(text, "X");
  write_at(SIM_FILE_DATABASE, text, 2 * PIECE);
  fill(text, "YZ");
  write_at(SIM_FILE_DATABASE, text, 4 * PIECE); /* beyond the end */
  assert_true(sim_disk_unsynced(&disk));
  sim_disk_settle(&disk, SIM_FATE_LOST, 0);
  assert_false(sim_disk_unsynced(&disk));
  char letters[16];
  letters_of(SIM_FILE_DATABASE, letters);
  assert_string_equal(letters, "abcd");
  fill(text, "X");
  write_at(SIM_FILE_DATABASE, text, 2 * PIECE);
  fill(text, "YZ");
  write_at(SIM_FILE_DATABASE, text, 4 * PIECE);
  sim_disk_settle(&disk, SIM_FATE_KEPT, 0);
  letters_of(SIM_FILE_DATABASE, letters);
  assert_string_equal(letters, "abXdYZ");
  sim_disk_settle(&disk, SIM_FATE_LOST, 0); /* what was kept is synced now */
  letters_of(SIM_FILE_DATABASE, letters);
  assert_string_equal(letters, "abXdYZ");
}

static void torn_writes_break_between_pieces_and_in_every_way(void **state) {
  (void)state;
  bool seen[1 << PIECES] = {false};
  char text[1024], letters[16];
  for (uint64_t die = 0; die < 400; die++) {
    make_synced(SIM_FILE_DATABASE, "abcd");
    fill(text, "WXYZ");
    write_at(SIM_FILE_DATABASE, text, 0);
    sim_disk_settle(&disk, SIM_FATE_TORN, die);
    letters_of(SIM_FILE_DATABASE, letters);
    size_t which = 0;
    for (size_t i = 0; i < PIECES; i++) {
      assert_true(letters[i] == "abcd"[i] || letters[i] == "WXYZ"[i]);
      if (letters[i] == "WXYZ"[i]) which |= (size_t)1 << i;
    }
    seen[which] = true;
  }
  for (size_t i = 0; i < sizeof seen; i++) assert_true(seen[i]);
}

static void a_torn_write_that_grows_a_file_may_leave_it_short_or_holed(void **state) {
  (void)state;
  char text[1024], letters[16];
  uint32_t old_size = 0, holed = 0, whole = 0;
  for (uint64_t die = 0; die < 400; die++) {
    make_synced(SIM_FILE_DATABASE, "ab");
    fill(text, "XYZ");
    write_at(SIM_FILE_DATABASE, text, 2 * PIECE);
    sim_disk_settle(&disk, SIM_FATE_TORN, die);
    letters_of(SIM_FILE_DATABASE, letters);
    assert_memory_equal(letters, "ab", 2);
    if (strlen(letters) == 2) old_size++;
    else if (strcmp(letters, "abXYZ") == 0) whole++;
    else holed++;
    for (size_t i = 2; i < strlen(letters); i++) assert_true(letters[i] == '\0' || letters[i] == "abXYZ"[i]);
  }
  assert_true(old_size > 0 && holed > 0 && whole > 0);
}

static void the_same_die_tears_the_same_way(void **state) {
  (void)state;
  char text[1024], first[16], second[16];
  for (uint64_t die = 0; die < 20; die++) {
    for (int round = 0; round < 2; round++) {
      make_synced(SIM_FILE_DATABASE, "abcd");
      fill(text, "WXYZ");
      write_at(SIM_FILE_DATABASE, text, 0);
      sim_disk_settle(&disk, SIM_FATE_TORN, die);
      letters_of(SIM_FILE_DATABASE, round == 0 ? first : second);
    }
    assert_string_equal(first, second);
  }
}

static void a_sync_of_one_file_does_not_sync_another(void **state) {
  (void)state;
  make_synced(SIM_FILE_DATABASE, "ab");
  make_synced(SIM_FILE_JOURNAL, "jk");
  char text[1024], letters[16];
  fill(text, "XY");
  write_at(SIM_FILE_DATABASE, text, 0);
  write_at(SIM_FILE_JOURNAL, text, 0);
  assert_int_equal(sim_disk_sync(&disk, SIM_FILE_JOURNAL, ME), SQLITE_OK);
  sim_disk_settle(&disk, SIM_FATE_LOST, 0);
  letters_of(SIM_FILE_DATABASE, letters);
  assert_string_equal(letters, "ab");
  letters_of(SIM_FILE_JOURNAL, letters);
  assert_string_equal(letters, "XY");
}

static void an_unsynced_truncation_comes_back(void **state) {
  (void)state;
  char letters[16];
  make_synced(SIM_FILE_DATABASE, "abcd");
  sim_disk_truncate(&disk, SIM_FILE_DATABASE, ME, PIECE);
  assert_true(sim_disk_unsynced(&disk));
  sim_disk_settle(&disk, SIM_FATE_LOST, 0);
  letters_of(SIM_FILE_DATABASE, letters);
  assert_string_equal(letters, "abcd");
  sim_disk_truncate(&disk, SIM_FILE_DATABASE, ME, PIECE);
  sim_disk_sync(&disk, SIM_FILE_DATABASE, ME);
  sim_disk_settle(&disk, SIM_FATE_LOST, 0);
  letters_of(SIM_FILE_DATABASE, letters);
  assert_string_equal(letters, "a");
}

static void a_file_that_grows_again_after_a_truncation_holds_zeros_between(void **state) {
  (void)state;
  char letters[16];
  make_synced(SIM_FILE_DATABASE, "abcd");
  sim_disk_truncate(&disk, SIM_FILE_DATABASE, ME, PIECE);
  char text[1024];
  fill(text, "Z");
  write_at(SIM_FILE_DATABASE, text, 3 * PIECE);
  letters_of(SIM_FILE_DATABASE, letters);
  assert_memory_equal(letters, "a\0\0Z", 4);
}

/* ---- directory entries and inodes ---- */

static void a_deletion_that_was_not_synced_comes_back(void **state) {
  (void)state;
  char letters[16];
  make_synced(SIM_FILE_JOURNAL, "old");
  sim_disk_remove(&disk, SIM_FILE_JOURNAL, ME, false);
  assert_false(disk.file[SIM_FILE_JOURNAL].exists);
  sim_disk_settle(&disk, SIM_FATE_LOST, 0);
  letters_of(SIM_FILE_JOURNAL, letters);
  assert_string_equal(letters, "old");
  assert_true(disk.file[SIM_FILE_JOURNAL].exists);
}

static void a_deletion_with_a_synced_directory_is_final(void **state) {
  (void)state;
  for (uint64_t die = 0; die < 30; die++) {
    make_synced(SIM_FILE_JOURNAL, "old");
    sim_disk_remove(&disk, SIM_FILE_JOURNAL, ME, true);
    sim_disk_settle(&disk, (enum sim_fate)(die % 3), die);
    assert_false(disk.file[SIM_FILE_JOURNAL].exists);
    assert_int_equal(disk.file[SIM_FILE_JOURNAL].size, 0);
  }
}

static void a_new_file_without_a_sync_is_gone_after_a_power_loss(void **state) {
  (void)state;
  sim_disk_create_file(&disk, SIM_FILE_JOURNAL);
  write_at(SIM_FILE_JOURNAL, "records", 0);
  sim_disk_settle(&disk, SIM_FATE_LOST, 0);
  assert_false(disk.file[SIM_FILE_JOURNAL].exists);
  sim_disk_create_file(&disk, SIM_FILE_JOURNAL);
  write_at(SIM_FILE_JOURNAL, "records", 0);
  sim_disk_settle(&disk, SIM_FATE_KEPT, 0);
  assert_holds(SIM_FILE_JOURNAL, "records");
}

/* Delete a synced file, make it again with other and shorter content, and lose power: what is there then? */
static void remake(char *letters_out, enum sim_fate fate, uint64_t die, bool sync_new) {
  char text[1024];
  make_synced(SIM_FILE_JOURNAL, "oooo");
  sim_disk_remove(&disk, SIM_FILE_JOURNAL, ME, false);
  sim_disk_create_file(&disk, SIM_FILE_JOURNAL);
  fill(text, "nn");
  write_at(SIM_FILE_JOURNAL, text, 0);
  if (sync_new) sim_disk_sync(&disk, SIM_FILE_JOURNAL, ME);
  sim_disk_settle(&disk, fate, die);
  assert_true(disk.file[SIM_FILE_JOURNAL].exists);
  letters_of(SIM_FILE_JOURNAL, letters_out);
}

static void a_journal_made_again_is_a_new_inode_old_or_new_but_never_a_mix(void **state) {
  (void)state;
  char letters[16];
  remake(letters, SIM_FATE_LOST, 0, false);
  assert_string_equal(letters, "oooo");
  remake(letters, SIM_FATE_KEPT, 0, false);
  assert_string_equal(letters, "nn");
  uint32_t old = 0, new = 0;
  for (uint64_t die = 0; die < 200; die++) {
    remake(letters, SIM_FATE_TORN, die, false);
    if (strcmp(letters, "oooo") == 0) old++;
    else if (strcmp(letters, "nn") == 0) new ++;
    else fail_msg("a mix of two inodes: %s", letters);
  }
  assert_true(old > 20 && new > 20);
}

static void the_first_sync_of_a_new_file_makes_its_name_and_the_deletion_before_it_durable(void **state) {
  (void)state;
  char letters[16];
  for (uint64_t die = 0; die < 30; die++) {
    remake(letters, (enum sim_fate)(die % 3), die, true);
    assert_string_equal(letters, "nn");
  }
}

static void a_new_file_that_is_deleted_unsynced_leaves_the_old_one_behind(void **state) {
  (void)state;
  char letters[16];
  make_synced(SIM_FILE_JOURNAL, "oo");
  sim_disk_remove(&disk, SIM_FILE_JOURNAL, ME, false);
  sim_disk_create_file(&disk, SIM_FILE_JOURNAL);
  write_at(SIM_FILE_JOURNAL, "never synced", 0);
  sim_disk_remove(&disk, SIM_FILE_JOURNAL, ME, false);
  sim_disk_settle(&disk, SIM_FATE_LOST, 0);
  letters_of(SIM_FILE_JOURNAL, letters);
  assert_string_equal(letters, "oo");
}

/* ---- images ---- */

static void an_image_brings_back_every_file_and_leaves_nothing_unsynced(void **state) {
  (void)state;
  struct sim_image image;
  char letters[16];
  make_synced(SIM_FILE_DATABASE, "abc");
  make_synced(SIM_FILE_WAL, "w");
  sim_disk_copy(&disk, &image);
  for (int round = 0; round < 3; round++) {
    char text[1024];
    fill(text, "XXXXX");
    write_at(SIM_FILE_DATABASE, text, 0);
    if (round == 1) sim_disk_remove(&disk, SIM_FILE_WAL, ME, true);
    if (round == 2) make_synced(SIM_FILE_JOURNAL, "hot");
    disk.dead = disk.injected = true;
    if (round == 0) sim_disk_load(&disk, &image);
    else sim_disk_reset(&disk, &image);
    letters_of(SIM_FILE_DATABASE, letters);
    assert_string_equal(letters, "abc");
    letters_of(SIM_FILE_WAL, letters);
    assert_string_equal(letters, "w");
    assert_false(disk.file[SIM_FILE_JOURNAL].exists);
    assert_true(disk.file[SIM_FILE_WAL].exists);
    assert_false(disk.dead || disk.injected || sim_disk_unsynced(&disk));
    sim_disk_settle(&disk, SIM_FATE_LOST, 0);
    letters_of(SIM_FILE_DATABASE, letters);
    assert_string_equal(letters, "abc");
  }
  sim_image_release(&image);
}

static void a_reset_mends_files_that_only_a_power_loss_touched(void **state) {
  (void)state;
  struct sim_image image;
  char text[1024], letters[16];
  make_synced(SIM_FILE_DATABASE, "abcd");
  sim_disk_copy(&disk, &image);
  sim_disk_load(&disk, &image);
  sim_disk_reset(&disk, &image);
  fill(text, "WXYZ");
  write_at(SIM_FILE_DATABASE, text, 0);
  sim_disk_settle(&disk, SIM_FATE_KEPT, 0);
  sim_disk_reset(&disk, &image);
  letters_of(SIM_FILE_DATABASE, letters);
  assert_string_equal(letters, "abcd");
  sim_image_release(&image);
}

/* ---- death ---- */

static void a_dead_disk_refuses_every_change_and_stays_as_it_was(void **state) {
  (void)state;
  char letters[16];
  make_synced(SIM_FILE_DATABASE, "ab");
  uint64_t digest = 7, operations = disk.operation_count;
  disk.digest = &digest;
  for (int whole = 0; whole < 2; whole++) {
    disk.dead = whole != 0;
    disk.dead_handle_mask = whole != 0 ? 0 : ME;
    assert_int_equal(write_at(SIM_FILE_DATABASE, "zz", 0) & 0xFF, SQLITE_IOERR);
    assert_int_equal(sim_disk_truncate(&disk, SIM_FILE_DATABASE, ME, 0) & 0xFF, SQLITE_IOERR);
    assert_int_equal(sim_disk_sync(&disk, SIM_FILE_DATABASE, ME) & 0xFF, SQLITE_IOERR);
    assert_int_equal(sim_disk_remove(&disk, SIM_FILE_DATABASE, ME, true) & 0xFF, SQLITE_IOERR);
    letters_of(SIM_FILE_DATABASE, letters);
    assert_string_equal(letters, "ab");
  }
  assert_true(digest == 7 && disk.operation_count == operations);
}

static void one_dead_process_does_not_stop_another(void **state) {
  (void)state;
  make_synced(SIM_FILE_DATABASE, "ab");
  disk.dead_handle_mask = ME;
  assert_int_equal(sim_disk_write(&disk, SIM_FILE_DATABASE, OTHER, "zz", 2, 0), SQLITE_OK);
  assert_memory_equal(disk.file[SIM_FILE_DATABASE].bytes, "zz", 2);
}

/* ---- fuses ---- */

static void a_fuse_blows_at_its_place_and_takes_the_power_with_it(void **state) {
  (void)state;
  static const struct {
    enum sim_fuse fuse;
    int blows_at;                   /* which of the steps below, from 0 */
    const char *journal, *database; /* after a power loss that loses what was unsynced; NULL: no such file */
  } places[] = {
      {SIM_FUSE_JOURNAL_WRITTEN, 0, NULL, "aa"}, {SIM_FUSE_JOURNAL_SYNCED, 0, "jj", "aa"}, {SIM_FUSE_DATABASE_WRITTEN, 1, "jj", "aa"},
      {SIM_FUSE_DATABASE_SYNCED, 1, "jj", "XX"}, {SIM_FUSE_JOURNAL_GONE, 2, NULL, "XX"},
  };
  for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
    char text[1024], letters[16];
    disk.fuse = SIM_FUSE_NONE;
    make_synced(SIM_FILE_DATABASE, "aa");
    sim_disk_remove(&disk, SIM_FILE_JOURNAL, ME, true);
    disk.fuse = places[p].fuse;
    disk.fuse_blown = false;
    sim_disk_create_file(&disk, SIM_FILE_JOURNAL);
    fill(text, "jj");
    write_at(SIM_FILE_JOURNAL, text, 0);
    int step[3];
    step[0] = sim_disk_sync(&disk, SIM_FILE_JOURNAL, ME);
    fill(text, "XX");
    write_at(SIM_FILE_DATABASE, text, 0);
    step[1] = sim_disk_sync(&disk, SIM_FILE_DATABASE, ME);
    step[2] = sim_disk_remove(&disk, SIM_FILE_JOURNAL, ME, true);
    for (int i = 0; i < 3; i++) assert_int_equal(step[i] == SQLITE_OK, i < places[p].blows_at);
    assert_true(disk.fuse_blown && disk.injected && disk.dead);
    assert_int_equal(disk.fuse, SIM_FUSE_NONE);
    sim_disk_settle(&disk, SIM_FATE_LOST, 0);
    disk.dead = disk.injected = false;
    assert_int_equal(disk.file[SIM_FILE_JOURNAL].exists, places[p].journal != NULL);
    letters_of(SIM_FILE_JOURNAL, letters);
    assert_string_equal(letters, places[p].journal == NULL ? "" : places[p].journal);
    letters_of(SIM_FILE_DATABASE, letters);
    assert_string_equal(letters, places[p].database);
  }
}

static void errors_are_injected_once_and_marked_as_ours(void **state) {
  (void)state;
  make_synced(SIM_FILE_DATABASE, "ab");
  disk.fuse = SIM_FUSE_IO_ERROR;
  assert_int_equal(write_at(SIM_FILE_DATABASE, "z", 0), SQLITE_OK); /* a write is not a sync */
  assert_int_equal(sim_disk_sync(&disk, SIM_FILE_DATABASE, ME), SQLITE_IOERR_FSYNC);
  assert_true(disk.injected && !disk.dead);
  assert_true(sim_disk_unsynced(&disk));
  assert_int_equal(sim_disk_sync(&disk, SIM_FILE_DATABASE, ME), SQLITE_OK);
  disk.injected = false;
  disk.fuse = SIM_FUSE_DISK_FULL;
  size_t size = disk.file[SIM_FILE_DATABASE].size;
  assert_int_equal(write_at(SIM_FILE_DATABASE, "more", size), SQLITE_FULL);
  assert_int_equal(disk.file[SIM_FILE_DATABASE].size, size);
  assert_true(disk.injected && !disk.dead);
  assert_int_equal(write_at(SIM_FILE_DATABASE, "more", size), SQLITE_OK);
}

/* ---- locks ---- */

static void many_readers_or_one_writer(void **state) {
  (void)state;
  assert_int_equal(sim_disk_lock(&disk, ME, SQLITE_LOCK_SHARED), SQLITE_OK);
  assert_int_equal(sim_disk_lock(&disk, OTHER, SQLITE_LOCK_SHARED), SQLITE_OK);
  assert_false(sim_disk_reserved(&disk));
  assert_int_equal(sim_disk_lock(&disk, ME, SQLITE_LOCK_RESERVED), SQLITE_OK);
  assert_true(sim_disk_reserved(&disk));
  assert_int_equal(sim_disk_lock(&disk, OTHER, SQLITE_LOCK_RESERVED), SQLITE_BUSY);
  assert_int_equal(sim_disk_lock(&disk, THIRD, SQLITE_LOCK_SHARED), SQLITE_OK);   /* a reserved lock lets readers in */
  assert_int_equal(sim_disk_lock(&disk, ME, SQLITE_LOCK_EXCLUSIVE), SQLITE_BUSY); /* readers are there: pending now */
  sim_disk_unlock(&disk, THIRD, SQLITE_LOCK_NONE);
  assert_int_equal(sim_disk_lock(&disk, THIRD, SQLITE_LOCK_SHARED), SQLITE_BUSY); /* and no new ones come in */
  sim_disk_unlock(&disk, OTHER, SQLITE_LOCK_NONE);
  assert_int_equal(sim_disk_lock(&disk, ME, SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
  assert_int_equal(sim_disk_lock(&disk, OTHER, SQLITE_LOCK_SHARED), SQLITE_BUSY);
  sim_disk_unlock(&disk, ME, SQLITE_LOCK_SHARED);
  assert_int_equal(sim_disk_lock(&disk, OTHER, SQLITE_LOCK_SHARED), SQLITE_OK);
  assert_int_equal(sim_disk_lock(&disk, OTHER, SQLITE_LOCK_EXCLUSIVE), SQLITE_BUSY); /* the writer reads on */
  sim_disk_unlock(&disk, ME, SQLITE_LOCK_NONE);
  assert_int_equal(sim_disk_lock(&disk, OTHER, SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
  sim_disk_unlock(&disk, OTHER, SQLITE_LOCK_NONE);
  assert_int_equal(disk.shared_mask | disk.reserved_mask | disk.pending_mask | disk.exclusive_mask, 0);
}

static void slots_of_shared_memory_are_shared_or_exclusive(void **state) {
  (void)state;
  assert_int_equal(sim_disk_shm_lock(&disk, ME, 3, 1, false), SQLITE_OK);
  assert_int_equal(sim_disk_shm_lock(&disk, OTHER, 3, 1, false), SQLITE_OK);
  assert_int_equal(sim_disk_shm_lock(&disk, ME, 3, 1, true), SQLITE_BUSY);
  assert_int_equal(sim_disk_shm_lock(&disk, THIRD, 0, SIM_SHM_SLOTS, true), SQLITE_BUSY); /* all or none */
  assert_int_equal(disk.shm_exclusive[0], 0);
  sim_disk_shm_unlock(&disk, OTHER, 3, 1);
  assert_int_equal(sim_disk_shm_lock(&disk, OTHER, 3, 1, true), SQLITE_BUSY);
  sim_disk_shm_unlock(&disk, ME, 3, 1);
  assert_int_equal(sim_disk_shm_lock(&disk, OTHER, 0, SIM_SHM_SLOTS, true), SQLITE_OK);
  assert_int_equal(sim_disk_shm_lock(&disk, ME, 5, 1, false), SQLITE_BUSY);
  sim_disk_shm_unlock(&disk, OTHER, 0, SIM_SHM_SLOTS);
  assert_int_equal(sim_disk_shm_lock(&disk, ME, 5, 1, true), SQLITE_OK);
}

/* ---- digest ---- */

static void the_digest_follows_what_is_written_where_and_in_which_order(void **state) {
  (void)state;
  uint64_t digest[6] = {0};
  sim_disk_create_file(&disk, SIM_FILE_DATABASE);
  for (size_t i = 0; i < 6; i++) {
    disk.digest = &digest[i];
    if (i == 4) write_at(SIM_FILE_JOURNAL, "two", 3);
    write_at(i == 3 ? SIM_FILE_WAL : SIM_FILE_DATABASE, i == 1 ? "One" : "one", i == 2 ? 1 : 0);
    if (i != 4) write_at(SIM_FILE_JOURNAL, "two", 3);
    sim_disk_sync(&disk, SIM_FILE_DATABASE, ME);
  }
  for (size_t i = 1; i < 5; i++) assert_true(digest[i] != digest[0]);
  assert_true(digest[5] == digest[0]);
}

int main(void) {
#define DISK_TEST(name) cmocka_unit_test_setup_teardown(name, disk_setup, disk_teardown)
  const struct CMUnitTest disk_test[] = {
      DISK_TEST(what_was_synced_survives_any_power_loss),
      DISK_TEST(unsynced_writes_are_lost_or_kept_whole),
      DISK_TEST(torn_writes_break_between_pieces_and_in_every_way),
      DISK_TEST(a_torn_write_that_grows_a_file_may_leave_it_short_or_holed),
      DISK_TEST(the_same_die_tears_the_same_way),
      DISK_TEST(a_sync_of_one_file_does_not_sync_another),
      DISK_TEST(an_unsynced_truncation_comes_back),
      DISK_TEST(a_file_that_grows_again_after_a_truncation_holds_zeros_between),
      DISK_TEST(a_deletion_that_was_not_synced_comes_back),
      DISK_TEST(a_deletion_with_a_synced_directory_is_final),
      DISK_TEST(a_new_file_without_a_sync_is_gone_after_a_power_loss),
      DISK_TEST(a_journal_made_again_is_a_new_inode_old_or_new_but_never_a_mix),
      DISK_TEST(the_first_sync_of_a_new_file_makes_its_name_and_the_deletion_before_it_durable),
      DISK_TEST(a_new_file_that_is_deleted_unsynced_leaves_the_old_one_behind),
      DISK_TEST(an_image_brings_back_every_file_and_leaves_nothing_unsynced),
      DISK_TEST(a_reset_mends_files_that_only_a_power_loss_touched),
      DISK_TEST(a_dead_disk_refuses_every_change_and_stays_as_it_was),
      DISK_TEST(one_dead_process_does_not_stop_another),
      DISK_TEST(a_fuse_blows_at_its_place_and_takes_the_power_with_it),
      DISK_TEST(errors_are_injected_once_and_marked_as_ours),
      DISK_TEST(many_readers_or_one_writer),
      DISK_TEST(slots_of_shared_memory_are_shared_or_exclusive),
      DISK_TEST(the_digest_follows_what_is_written_where_and_in_which_order),
  };
  return cmocka_run_group_tests(disk_test, NULL, NULL);
}
