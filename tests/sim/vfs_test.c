/* SQLite on sim's VFS: randomness, runs on a kept connection, two connections of one database, their locks and deaths. */
#include "sim/vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/shim.h"
#include "tests/sim/storage.h"
#include "tests/support.h"

static const enum storage_mode sound_modes[] = {STORAGE_DELETE_EXTRA, STORAGE_WAL_FULL};

#define FOR_SOUND_MODES(storage, connections)                                                                \
  for (int which_mode = 0; which_mode < 2; which_mode++)                                                     \
    for (bool opened = (storage_open((storage), sound_modes[which_mode], 512, (connections)), true); opened; \
         opened = (storage_close(storage), false))

static int begin(struct storage *storage, int connection) { return storage_step(storage->connection[connection].begin) & 0xFF; }
static int commit(struct storage *storage, int connection) { return storage_step(storage->connection[connection].commit) & 0xFF; }
static int insert(struct storage *storage, int connection, int64_t key) {
  return storage_insert(storage, connection, key, "some text in a row") & 0xFF;
}

static void rollback(struct storage *storage, int connection) {
  if (!sqlite3_get_autocommit(storage->connection[connection].db)) storage_step(storage->connection[connection].rollback);
}

/* ---- the VFS itself ---- */

static int64_t random_number(sqlite3 *db) {
  sqlite3_stmt *statement = NULL;
  int64_t number = 0;
  if (sqlite3_prepare_v2(db, "SELECT random()", -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
    number = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return number;
}

static void the_vfs_is_the_default_one_and_its_seed_rules_sqlites_dice(void **state) {
  (void)state;
  sqlite3 *db = NULL;
  sim_vfs_init();
  assert_string_equal(sqlite3_vfs_find(NULL)->zName, "oncesim");
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  sim_vfs_seed(5);
  int64_t first = random_number(db), second = random_number(db);
  assert_int_not_equal(first, second);
  sim_vfs_seed(5);
  assert_int_equal(random_number(db), first);
  assert_int_equal(random_number(db), second);
  sim_vfs_seed(6);
  assert_int_not_equal(random_number(db), first);
  sqlite3_close(db);
}

static void a_name_that_is_no_disk_cannot_be_opened(void **state) {
  (void)state;
  sqlite3 *db = NULL;
  struct sim_disk disk;
  sim_vfs_init();
  sim_disk_init(&disk, "/known.db");
  assert_int_equal(sqlite3_open_v2("/known.db", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_CANTOPEN);
  sqlite3_close(db);
  sim_vfs_add(&disk);
  assert_int_equal(sqlite3_open_v2("/known.dbx", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_CANTOPEN);
  sqlite3_close(db);
  assert_int_equal(sqlite3_open_v2("/known.db", &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_CANTOPEN); /* nor created unasked */
  sqlite3_close(db);
  assert_int_equal(sqlite3_open_v2("/known.db", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
  sqlite3_close(db);
  sim_vfs_remove(&disk);
  assert_int_equal(sqlite3_open_v2("/known.db", &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_CANTOPEN);
  sqlite3_close(db);
  sim_disk_release(&disk);
}

static void each_connection_has_a_handle_bit_of_its_own_and_gives_it_back(void **state) {
  (void)state;
  struct storage storage;
  storage_open(&storage, STORAGE_WAL_FULL, 512, 2);
  uint32_t bit = storage.connection[0].handle_bit;
  assert_true(bit != 0 && storage.connection[1].handle_bit != 0 && (bit & storage.connection[1].handle_bit) == 0);
  assert_int_equal(storage.disk.handle_mask, bit | storage.connection[1].handle_bit);
  storage_begin_run(&storage, 1);
  storage_process_crash(&storage, 0, false, true);
  assert_int_equal(storage.connection[0].handle_bit, bit);
  storage_close(&storage);
}

/* ---- runs on a kept connection ---- */

enum { RUNS = 40 };

/* A run that depends on its number only: some transactions, a crash or a power loss, and some more. */
static uint64_t digest_of_run(struct storage *storage, uint64_t number, bool reseed) {
  uint64_t dice = number;
  storage_begin_run(storage, 1);
  if (!reseed) random_number(storage->connection[0].db); /* as if the stream went on from run to run */
  for (int i = 0; i < 8; i++) {
    assert_int_equal(begin(storage, 0), SQLITE_OK);
    uint64_t rows = 1 + support_below(&dice, 12);
    for (uint64_t r = 0; r < rows; r++) insert(storage, 0, (int64_t)support_below(&dice, 1000));
    if (support_below(&dice, 5) == 0) rollback(storage, 0);
    else assert_int_equal(commit(storage, 0), SQLITE_OK);
    if (support_below(&dice, 6) == 0) storage_process_crash(storage, 0, true, false);
    if (support_below(&dice, 6) == 0) storage_power_loss(storage, (enum sim_fate)support_below(&dice, 3), support_random(&dice), false);
  }
  if (support_below(&dice, 3) == 0) { /* leave a transaction open for the next run to sweep up */
    begin(storage, 0);
    insert(storage, 0, 5000);
  }
  return storage->digest;
}

static void runs_are_the_same_in_whatever_order_they_come(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage, 1) {
    uint64_t digest[RUNS];
    for (uint64_t run = 0; run < RUNS; run++) digest[run] = digest_of_run(&storage, run, true);
    for (uint64_t run = RUNS; run > 0; run--) assert_true(digest_of_run(&storage, run - 1, true) == digest[run - 1]);
    for (int again = 0; again < 3; again++) assert_true(digest_of_run(&storage, 7, true) == digest[7]);
    for (uint64_t run = 1; run < RUNS; run++) assert_true(digest[run] != digest[0]);
  }
}

static void a_run_whose_randomness_went_on_differs(void **state) {
  (void)state;
  struct storage storage;
  storage_open(&storage, STORAGE_WAL_FULL, 512, 1);
  assert_true(digest_of_run(&storage, 3, false) != digest_of_run(&storage, 3, true)); /* the salts of the log differ */
  storage_close(&storage);
}

static void a_reset_brings_back_every_byte_of_the_image(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage, 2) {
    uint64_t clean, dirty, again;
    storage_begin_run(&storage, 1);
    assert_true(storage_read(&storage, 0, &clean));
    for (int64_t key = 0; key < 60; key++) assert_int_equal(insert(&storage, 0, key), SQLITE_OK);
    assert_true(storage_read(&storage, 1, &dirty));
    assert_true(dirty != clean);
    storage_begin_run(&storage, 1);
    for (int c = 0; c < 2; c++) {
      assert_true(storage_read(&storage, c, &again));
      assert_true(again == clean);
    }
    assert_true(storage_is_sound(&storage, 1));
    for (int k = 0; k < SIM_FILE_COUNT; k++) {
      assert_int_equal(storage.disk.file[k].exists, storage.image.exists[k]);
      assert_int_equal(storage.disk.file[k].size, storage.image.size[k]);
    }
  }
}

/* ---- two connections: locks ---- */

struct contest {
  int64_t accepted[2000]; /* how many inserts of each key were acknowledged */
  uint64_t busy, refused, commits;
  int64_t next_key[2];
  bool open[2];
  int64_t pending[2][8];
  int pending_count[2];
};

enum { FIGHT_STEPS_MAX = 20000 }; /* some 1,500 are needed */

/* One step of one contestant: begin, insert the next key, or commit. Keys are fought for: both go through all of them. */
static void contest_step(struct storage *storage, struct contest *contest, int me, uint64_t *dice) {
  if (!contest->open[me]) {
    int rc = begin(storage, me);
    contest->busy += rc == SQLITE_BUSY;
    contest->open[me] = rc == SQLITE_OK;
    contest->pending_count[me] = 0;
    return;
  }
  if (contest->pending_count[me] < 8 && support_below(dice, 3) != 0) {
    int64_t key = contest->next_key[me]++;
    int rc = insert(storage, me, key);
    contest->refused += rc == SQLITE_CONSTRAINT;
    if (rc == SQLITE_OK) contest->pending[me][contest->pending_count[me]++] = key;
    return;
  }
  int rc = commit(storage, me);
  contest->busy += rc == SQLITE_BUSY;
  if (rc == SQLITE_BUSY) return;
  if (rc == SQLITE_OK) {
    contest->commits++;
    for (int i = 0; i < contest->pending_count[me]; i++) contest->accepted[contest->pending[me][i]]++;
  }
  rollback(storage, me);
  contest->open[me] = false;
}

/* Let two connections fight for 300 keys; returns how many keys were acknowledged twice or are not there. */
static uint64_t fight(struct storage *storage, struct contest *contest, uint64_t seed, bool no_locks) {
  uint64_t dice = seed;
  memset(contest, 0, sizeof *contest);
  storage_begin_run(storage, 1);
  shim.no_locks = no_locks;
  int steps = 0;
  while (contest->next_key[0] < 300 && contest->next_key[1] < 300 && steps++ < FIGHT_STEPS_MAX) {
    contest_step(storage, contest, (int)support_below(&dice, 2), &dice);
  }
  rollback(storage, 0);
  rollback(storage, 1);
  shim.no_locks = false;
  for (int c = 0; c < 2; c++) sqlite3_file_control(storage->connection[c].db, "main", SQLITE_FCNTL_RESET_CACHE, NULL);
  uint64_t wrong = steps >= FIGHT_STEPS_MAX ? 1 : 0; /* neither gets on */
  uint64_t accepted = 0;
  for (size_t key = 0; key < 2000; key++) {
    wrong += contest->accepted[key] > 1;
    accepted += contest->accepted[key] > 0;
  }
  int64_t rows = storage_count(storage, 0);
  return wrong + (rows == (int64_t)accepted ? 0 : 1);
}

static void two_connections_never_insert_the_same_key(void **state) {
  (void)state;
  struct storage storage;
  static struct contest contest;
  FOR_SOUND_MODES(&storage, 2) {
    uint64_t busy = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
      assert_int_equal(fight(&storage, &contest, seed, false), 0);
      busy += contest.busy;
      refused += contest.refused;
      assert_true(contest.commits > 10);
    }
    assert_true(busy > 1000);   /* they met */
    assert_true(refused > 500); /* over the same keys */
    assert_true(storage_is_sound(&storage, 0));
  }
}

static void without_locks_two_connections_insert_the_same_key(void **state) {
  (void)state;
  struct storage storage;
  static struct contest contest;
  FOR_SOUND_MODES(&storage, 2) {
    uint64_t wrong = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) wrong += fight(&storage, &contest, seed, true) != 0;
    assert_true(wrong > 10);
  }
}

static void a_reader_holds_a_rollback_commit_up_but_not_a_log(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage, 2) {
    storage_begin_run(&storage, 1);
    for (int64_t key = 0; key < 5; key++) assert_int_equal(insert(&storage, 0, key), SQLITE_OK);
    sqlite3_stmt *reading = storage.connection[1].read_t;
    assert_int_equal(sqlite3_step(reading), SQLITE_ROW); /* and stay on it */
    assert_int_equal(begin(&storage, 0), SQLITE_OK);
    assert_int_equal(insert(&storage, 0, 9), SQLITE_OK);
    bool wal = storage_is_wal(&storage);
    assert_int_equal(commit(&storage, 0), wal ? SQLITE_OK : SQLITE_BUSY);
    if (!wal) assert_int_equal(storage_count(&storage, 0), 6); /* the transaction is still open and sees its own row */
    int rows = 1;
    while (sqlite3_step(reading) == SQLITE_ROW) rows++;
    sqlite3_reset(reading);
    assert_int_equal(rows, 5);
    if (!wal) assert_int_equal(commit(&storage, 0), SQLITE_OK);
    assert_int_equal(storage_count(&storage, 1), 6);
  }
}

static void a_writer_keeps_a_second_writer_out_until_it_has_committed(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage, 2) {
    storage_begin_run(&storage, 1);
    assert_int_equal(begin(&storage, 0), SQLITE_OK);
    assert_int_equal(insert(&storage, 0, 1), SQLITE_OK);
    assert_int_equal(begin(&storage, 1), SQLITE_BUSY);
    assert_int_equal(storage_count(&storage, 1), 0); /* reading is free, and sees nothing yet */
    assert_int_equal(commit(&storage, 0), SQLITE_OK);
    assert_int_equal(begin(&storage, 1), SQLITE_OK);
    assert_int_equal(insert(&storage, 1, 1), SQLITE_CONSTRAINT);
    rollback(&storage, 1);
  }
}

/* ---- two connections: deaths ---- */

/* One connection dies at an operation of its commit; the other had committed before, and goes on after. */
static void a_death_at_any_operation_leaves_the_others_commits_and_its_own_before_or_after(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage, 2) {
    uint64_t landed = 0, vanished = 0;
    for (uint64_t at = 1;; at++) {
      bool struck = false;
      for (int way = 0; way < 4; way++) {
        storage_begin_run(&storage, 1);
        for (int64_t key = 0; key < 10; key++) assert_int_equal(insert(&storage, 1, key), SQLITE_OK);
        shim = (struct shim){.disk = &storage.disk,
                             .strike = SHIM_PROCESS_DIES,
                             .moment = way % 2 == 0 ? SHIM_BEFORE : SHIM_AFTER,
                             .at = at,
                             .handle_mask = storage.connection[0].handle_bit};
        int rc = begin(&storage, 0);
        for (int64_t key = 100; rc == SQLITE_OK && key < 130; key++) rc = insert(&storage, 0, key);
        if (rc == SQLITE_OK) rc = commit(&storage, 0);
        struck = shim.struck;
        shim.strike = SHIM_NOTHING;
        storage_process_crash(&storage, 0, false, way >= 2);
        int64_t seen_by_other = storage_count(&storage, 1);
        assert_true(seen_by_other == 10 || seen_by_other == 40);
        assert_true(rc != SQLITE_OK || seen_by_other == 40);
        landed += seen_by_other == 40;
        vanished += seen_by_other == 10;
        assert_int_equal(insert(&storage, 1, 500), SQLITE_OK);
        assert_int_equal(storage_count(&storage, 0), seen_by_other + 1);
        assert_int_equal(insert(&storage, 0, 501), SQLITE_OK);
        storage_power_loss(&storage, SIM_FATE_LOST, 0, false);
        assert_int_equal(storage_count(&storage, 1), seen_by_other + 2);
      }
      if (!struck) break;
    }
    assert_true(landed > 0 && vanished > 20);
    assert_true(storage_is_sound(&storage, 1));
  }
}

static void a_dead_connection_drops_its_locks(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage, 2) {
    storage_begin_run(&storage, 1);
    assert_int_equal(begin(&storage, 0), SQLITE_OK);
    assert_int_equal(insert(&storage, 0, 1), SQLITE_OK);
    assert_int_equal(begin(&storage, 1), SQLITE_BUSY);
    storage_process_crash(&storage, 0, false, false);
    assert_int_equal(begin(&storage, 1), SQLITE_OK);
    assert_int_equal(insert(&storage, 1, 1), SQLITE_OK); /* its row is gone with it */
    assert_int_equal(commit(&storage, 1), SQLITE_OK);
    assert_int_equal(storage_count(&storage, 0), 1);
  }
}

/* Rows stand in the log only; a writer is inside a transaction when the other process dies. Returns how many rows of 41
   are read once it has committed. */
static int64_t rows_after_a_neighbours_death(struct storage *storage, bool zero_shm) {
  storage_begin_run(storage, 1);
  assert_int_equal(begin(storage, 0), SQLITE_OK);
  for (int64_t key = 0; key < 40; key++) assert_int_equal(insert(storage, 0, key), SQLITE_OK);
  assert_int_equal(commit(storage, 0), SQLITE_OK);
  assert_int_equal(begin(storage, 1), SQLITE_OK);
  assert_int_equal(insert(storage, 1, 100), SQLITE_OK);
  storage_process_crash(storage, 0, false, false);
  if (zero_shm) memset(storage->disk.shm[0], 0, SIM_SHM_REGION_SIZE);
  assert_int_equal(commit(storage, 1), SQLITE_OK);
  return storage_count(storage, 0);
}

static void shared_memory_survives_while_another_connection_lives(void **state) {
  (void)state;
  struct storage storage;
  storage_open(&storage, STORAGE_WAL_FULL, 512, 2);
  assert_int_equal(rows_after_a_neighbours_death(&storage, false), 41);
  storage_close(&storage);
}

static void shared_memory_zeroed_under_a_living_writer_loses_commits(void **state) {
  (void)state;
  struct storage storage;
  storage_open(&storage, STORAGE_WAL_FULL, 512, 2);
  assert_int_not_equal(rows_after_a_neighbours_death(&storage, true), 41);
  storage_close(&storage);
}

static void a_power_loss_takes_both_connections_and_leaves_both_their_commits(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage, 2) {
    for (int which = 0; which < 6; which++) {
      storage_begin_run(&storage, 1);
      for (int64_t key = 0; key < 20; key++) assert_int_equal(insert(&storage, (int)(key % 2), key), SQLITE_OK);
      assert_int_equal(begin(&storage, which % 2), SQLITE_OK);
      assert_int_equal(insert(&storage, which % 2, 99), SQLITE_OK);
      storage_power_loss(&storage, (enum sim_fate)(which % 3), 1, which >= 3);
      assert_int_equal(storage_count(&storage, 0), 20);
      assert_int_equal(storage_count(&storage, 1), 20);
    }
  }
}

int main(void) {
  const struct CMUnitTest vfs_test[] = {
      cmocka_unit_test(the_vfs_is_the_default_one_and_its_seed_rules_sqlites_dice),
      cmocka_unit_test(a_name_that_is_no_disk_cannot_be_opened),
      cmocka_unit_test(each_connection_has_a_handle_bit_of_its_own_and_gives_it_back),
      cmocka_unit_test(runs_are_the_same_in_whatever_order_they_come),
      cmocka_unit_test(a_run_whose_randomness_went_on_differs),
      cmocka_unit_test(a_reset_brings_back_every_byte_of_the_image),
      cmocka_unit_test(two_connections_never_insert_the_same_key),
      cmocka_unit_test(without_locks_two_connections_insert_the_same_key),
      cmocka_unit_test(a_reader_holds_a_rollback_commit_up_but_not_a_log),
      cmocka_unit_test(a_writer_keeps_a_second_writer_out_until_it_has_committed),
      cmocka_unit_test(a_death_at_any_operation_leaves_the_others_commits_and_its_own_before_or_after),
      cmocka_unit_test(a_dead_connection_drops_its_locks),
      cmocka_unit_test(shared_memory_survives_while_another_connection_lives),
      cmocka_unit_test(shared_memory_zeroed_under_a_living_writer_loses_commits),
      cmocka_unit_test(a_power_loss_takes_both_connections_and_leaves_both_their_commits),
  };
  return cmocka_run_group_tests(vfs_test, NULL, NULL);
}
