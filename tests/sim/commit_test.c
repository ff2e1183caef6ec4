/* The commit lemma: whatever happens at whatever operation inside a commit, what is read afterwards is the state before
   it or the state after it, and never less than was acknowledged.

   Method. A history of transactions is run once undisturbed, and the hash of all rows is kept after each. Then it is run
   again for every mutating operation of the history (a shim VFS counts them), struck before, amid or after that
   operation, settled by each fate, and read: the hash must be one of the history, that of the acknowledged commits or that of one more. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/shim.h"
#include "tests/sim/storage.h"
#include "tests/support.h"

enum { COMMITS = 8, TORN_DICE = 6 };

enum verdict { INTACT_BEFORE, INTACT_AFTER, LOST, PHANTOM, CORRUPT, VERDICT_COUNT };

struct tally {
  uint64_t runs;
  uint64_t count[VERDICT_COUNT];
  uint64_t in_doubt; /* a COMMIT that returned an error and was there all the same */
};

static uint64_t wanted[COMMITS + 1]; /* hash of all rows after so many commits */
static uint64_t operations_of_history;

/* Row sizes vary so that transactions touch one page, several pages, and pages that overflow. */
static void value_of(int64_t key, char *out, size_t size) {
  size_t length = 10 + (size_t)(key * 37 % 90) + (key % 11 == 0 ? 700 : 0);
  if (length >= size) length = size - 1;
  memset(out, 'a' + (int)(key % 26), length);
  out[length] = '\0';
}

/* One transaction of the history; returns SQLite's code of the first step that failed. */
static int transact(struct storage *storage, int number) {
  static const int rows[COMMITS] = {1, 3, 12, 1, 2, 25, 1, 4};
  struct storage_connection *connection = &storage->connection[0];
  char sql[64], value[1024];
  int rc = storage_step(connection->begin);
  for (int r = 0; rc == SQLITE_OK && r < rows[number]; r++) {
    int64_t key = (number + 1) * 100 + r;
    value_of(key, value, sizeof value);
    rc = storage_insert(storage, 0, key, value);
  }
  snprintf(sql, sizeof sql, "UPDATE state SET n = %d WHERE id = 1", number + 1);
  if (rc == SQLITE_OK) rc = sqlite3_exec(connection->db, sql, NULL, NULL, NULL);
  if (rc == SQLITE_OK && number % 3 == 2) rc = sqlite3_exec(connection->db, "DELETE FROM t WHERE k % 7 = 3", NULL, NULL, NULL);
  if (rc == SQLITE_OK) rc = storage_step(connection->commit);
  return rc;
}

/* Run the history until a commit fails; returns how many were acknowledged. */
static int run_history(struct storage *storage, enum shim_strike strike, enum shim_moment moment, uint64_t at) {
  storage_begin_run(storage, 1);
  shim.strike = strike;
  shim.moment = moment;
  shim.at = at;
  shim.handle_mask = storage->connection[0].handle_bit;
  int acknowledged = 0;
  while (acknowledged < COMMITS && transact(storage, acknowledged) == SQLITE_OK) acknowledged++;
  shim.strike = SHIM_NOTHING;
  return acknowledged;
}

static void learn_history(struct storage *storage) {
  storage_begin_run(storage, 1);
  assert_true(storage_read(storage, 0, &wanted[0]));
  for (int c = 0; c < COMMITS; c++) {
    assert_int_equal(transact(storage, c), SQLITE_OK);
    assert_true(storage_read(storage, 0, &wanted[c + 1]));
    assert_true(wanted[c + 1] != wanted[c]);
  }
  operations_of_history = shim.operation_count;
}

static enum verdict judge(struct storage *storage, int acknowledged) {
  uint64_t hash;
  if (!storage_read(storage, 0, &hash)) return CORRUPT;
  if (hash == wanted[acknowledged]) return INTACT_BEFORE;
  if (acknowledged < COMMITS && hash == wanted[acknowledged + 1]) return INTACT_AFTER;
  for (int c = 0; c < acknowledged; c++) {
    if (hash == wanted[c]) return LOST;
  }
  for (int c = acknowledged + 2; c <= COMMITS; c++) {
    if (hash == wanted[c]) return PHANTOM;
  }
  return CORRUPT;
}

static void enter(struct tally *tally, enum verdict verdict) {
  tally->runs++;
  tally->count[verdict]++;
  if (verdict == INTACT_AFTER) tally->in_doubt++;
}

static uint64_t damaged(const struct tally *tally) { return tally->count[LOST] + tally->count[PHANTOM] + tally->count[CORRUPT]; }

static void print_tally(const char *what, const struct storage *storage, const struct tally *tally) {
  print_message("%-14s %4d  %-28s %6d runs: before %d, after %d, lost %d, phantom %d, corrupt %d\n", storage_mode_name(storage->mode),
                storage->page_size, what, (int)tally->runs, (int)tally->count[INTACT_BEFORE], (int)tally->count[INTACT_AFTER],
                (int)tally->count[LOST], (int)tally->count[PHANTOM], (int)tally->count[CORRUPT]);
}

/* The fates of unsynced writes that are tried at each position: lost, kept, and several ways of being torn. */
static enum sim_fate fate_of(int which) { return which == 0 ? SIM_FATE_LOST : which == 1 ? SIM_FATE_KEPT : SIM_FATE_TORN; }

static const enum shim_moment moments[] = {SHIM_BEFORE, SHIM_HALF, SHIM_AFTER};

/* Power goes before, amid and after each operation of the history, and after the last; each fate. */
static struct tally lose_power_everywhere(struct storage *storage) {
  struct tally tally = {0};
  learn_history(storage);
  for (uint64_t at = 1; at <= operations_of_history + 1; at++) {
    for (size_t m = 0; m < 3; m++) {
      for (int which = 0; which < 2 + TORN_DICE; which++) {
        int acknowledged = run_history(storage, SHIM_POWER_LOSS, moments[m], at);
        storage_power_loss(storage, fate_of(which), at * 64 + (uint64_t)which, false);
        enter(&tally, judge(storage, acknowledged));
      }
    }
  }
  return tally;
}

static const enum storage_mode sound_modes[] = {STORAGE_DELETE_EXTRA, STORAGE_WAL_FULL};
static const int page_sizes[] = {512, 4096};

#define FOR_SOUND_MODES(storage)                                                                                            \
  for (int which_mode = 0; which_mode < 4; which_mode++)                                                                    \
    for (bool opened = (storage_open((storage), sound_modes[which_mode / 2], page_sizes[which_mode % 2], 1), true); opened; \
         opened = (storage_close(storage), false))

static void power_lost_at_any_operation_leaves_the_state_before_or_after(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    struct tally tally = lose_power_everywhere(&storage);
    print_tally("power lost", &storage, &tally);
    assert_int_equal(damaged(&tally), 0);
    assert_true(tally.runs > 400);
    /* Both outcomes were met, so that the search can tell them apart. */
    assert_true(tally.count[INTACT_BEFORE] > 100 && tally.count[INTACT_AFTER] > 20);
  }
}

static void a_connection_opened_anew_reads_the_same_as_the_one_that_was_kept(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    learn_history(&storage);
    for (uint64_t at = 1; at <= operations_of_history + 1; at++) {
      for (int which = 0; which < 4; which++) {
        uint64_t hash[2];
        for (int reopen = 0; reopen < 2; reopen++) {
          run_history(&storage, SHIM_POWER_LOSS, moments[at % 3], at);
          storage_power_loss(&storage, fate_of(which), at, reopen != 0);
          assert_true(storage_read(&storage, 0, &hash[reopen]));
        }
        assert_true(hash[0] == hash[1]);
      }
    }
  }
}

static void after_recovery_the_history_goes_on_and_survives_the_next_power_loss(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    learn_history(&storage);
    for (uint64_t at = 1; at <= operations_of_history; at++) {
      for (int which = 0; which < 3; which++) {
        int acknowledged = run_history(&storage, SHIM_POWER_LOSS, moments[(at + (uint64_t)which) % 3], at);
        storage_power_loss(&storage, fate_of(which), at, false);
        enum verdict verdict = judge(&storage, acknowledged);
        for (int c = acknowledged + (verdict == INTACT_AFTER ? 1 : 0); c < COMMITS; c++) assert_int_equal(transact(&storage, c), SQLITE_OK);
        storage_power_loss(&storage, fate_of((which + 1) % 3), at, false);
        assert_int_equal(judge(&storage, COMMITS), INTACT_BEFORE);
      }
      assert_true(at % 16 != 0 || storage_is_sound(&storage, 0));
    }
  }
}

static void a_second_power_loss_inside_the_recovery_loses_nothing(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    struct tally tally = {0};
    uint64_t struck = 0;
    learn_history(&storage);
    for (uint64_t at = 1; at <= operations_of_history; at++) {
      for (uint64_t again = 1; again <= 24; again++) {
        int acknowledged = run_history(&storage, SHIM_POWER_LOSS, moments[at % 3], at);
        storage_power_loss(&storage, fate_of((int)(at % 4)), at, false);
        shim = (struct shim){.disk = &storage.disk, .strike = SHIM_POWER_LOSS, .moment = moments[again % 3], .at = again};
        uint64_t hash;
        storage_read(&storage, 0, &hash); /* the recovery happens here; it may fail as the power goes */
        bool was_struck = shim.struck;
        storage_power_loss(&storage, fate_of((int)(again % 4)), again, false);
        enter(&tally, judge(&storage, acknowledged));
        struck += was_struck;
        if (!was_struck) break;
      }
    }
    print_tally("and once more in recovery", &storage, &tally);
    assert_int_equal(damaged(&tally), 0);
    if (storage.mode == STORAGE_DELETE_EXTRA) assert_true(struck > 200); /* rolling a journal back writes; reading a log does not */
  }
}

static void a_process_that_dies_at_any_operation_leaves_the_state_before_or_after(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    for (int reopen = 0; reopen < 2; reopen++) {
      struct tally tally = {0};
      learn_history(&storage);
      for (uint64_t at = 1; at <= operations_of_history + 1; at++) {
        for (size_t m = 0; m < 3; m += 2) {
          int acknowledged = run_history(&storage, SHIM_PROCESS_DIES, moments[m], at);
          storage_process_crash(&storage, 0, true, reopen != 0);
          enter(&tally, judge(&storage, acknowledged));
        }
      }
      print_tally(reopen ? "process died, reopened" : "process died", &storage, &tally);
      assert_int_equal(damaged(&tally), 0);
    }
  }
}

/* Break the power by one of sim's own fuses instead of the shim, as sim/sql.c does. */
static void power_lost_at_a_phase_of_a_commit_leaves_the_state_before_or_after(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    struct tally tally = {0};
    learn_history(&storage);
    for (int commit = 0; commit < COMMITS; commit++) {
      for (int fuse = SIM_FUSE_JOURNAL_WRITTEN; fuse <= SIM_FUSE_JOURNAL_GONE; fuse++) {
        for (int which = 0; which < 2 + TORN_DICE; which++) {
          storage_begin_run(&storage, 1);
          for (int c = 0; c < commit; c++) assert_int_equal(transact(&storage, c), SQLITE_OK);
          storage.disk.fuse = (enum sim_fuse)fuse;
          int acknowledged = commit + (transact(&storage, commit) == SQLITE_OK ? 1 : 0);
          assert_true(acknowledged == commit + 1 || storage.disk.fuse_blown);
          storage_power_loss(&storage, fate_of(which), (uint64_t)which, false);
          enter(&tally, judge(&storage, acknowledged));
        }
      }
    }
    print_tally("power lost at a phase", &storage, &tally);
    assert_int_equal(damaged(&tally), 0);
    assert_true(tally.count[INTACT_AFTER] > 0);
  }
}

static void a_failed_sync_followed_by_a_stop_leaves_the_state_before_or_after(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    struct tally tally = {0};
    learn_history(&storage);
    uint64_t syncs = shim.sync_count;
    for (uint64_t at = 1; at <= syncs; at++) {
      for (int which = 0; which < 5; which++) {
        int acknowledged = run_history(&storage, SHIM_SYNC_ERROR, SHIM_BEFORE, at);
        if (which < 2) storage_process_crash(&storage, 0, true, which == 1);
        else storage_power_loss(&storage, fate_of(which - 2), at, false);
        enter(&tally, judge(&storage, acknowledged));
      }
    }
    print_tally("sync failed, stopped", &storage, &tally);
    assert_int_equal(damaged(&tally), 0);
  }
}

static void a_full_disk_fails_the_commit_and_leaves_the_state_before(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    learn_history(&storage);
    for (int commit = 0; commit < COMMITS; commit++) {
      storage_begin_run(&storage, 1);
      for (int c = 0; c < commit; c++) assert_int_equal(transact(&storage, c), SQLITE_OK);
      storage.disk.fuse = SIM_FUSE_DISK_FULL;
      assert_int_equal(transact(&storage, commit) & 0xFF, SQLITE_FULL);
      assert_true(storage.disk.injected && storage.disk.fuse == SIM_FUSE_NONE);
      if (!sqlite3_get_autocommit(storage.connection[0].db)) storage_step(storage.connection[0].rollback);
      assert_int_equal(judge(&storage, commit), INTACT_BEFORE);
      for (int c = commit; c < COMMITS; c++) assert_int_equal(transact(&storage, c), SQLITE_OK); /* and all goes on */
      assert_int_equal(judge(&storage, COMMITS), INTACT_BEFORE);
    }
  }
}

static void a_commit_that_failed_may_be_there_all_the_same(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    uint64_t in_doubt = 0;
    learn_history(&storage);
    for (uint64_t at = 1; at <= operations_of_history; at++) {
      int acknowledged = run_history(&storage, SHIM_POWER_LOSS, SHIM_AFTER, at);
      storage_power_loss(&storage, SIM_FATE_KEPT, 0, false);
      in_doubt += acknowledged < COMMITS && judge(&storage, acknowledged) == INTACT_AFTER;
    }
    assert_true(in_doubt >= COMMITS); /* at least once a commit: just before its last sync */
  }
}

static void a_log_is_checkpointed_into_the_database_within_the_history(void **state) {
  (void)state;
  struct storage storage;
  storage_open(&storage, STORAGE_WAL_FULL, 512, 1);
  learn_history(&storage);
  storage_begin_run(&storage, 1);
  for (int c = 0; c < COMMITS; c++) assert_int_equal(transact(&storage, c), SQLITE_OK);
  /* Otherwise no crash above was inside a checkpoint. */
  assert_memory_not_equal(storage.disk.file[SIM_FILE_DATABASE].bytes, storage.image.bytes[SIM_FILE_DATABASE],
                          storage.image.size[SIM_FILE_DATABASE]);
  storage_close(&storage);
}

/* ---- twins: what must be found broken ---- */

static void rollback_journal_with_synchronous_full_loses_commits_at_a_power_loss(void **state) {
  (void)state;
  struct storage storage;
  storage_open(&storage, STORAGE_DELETE_FULL, 512, 1);
  struct tally tally = lose_power_everywhere(&storage);
  print_tally("power lost", &storage, &tally);
  assert_true(tally.count[LOST] > 50); /* its deletion of the journal is not synced, so the journal comes back and is rolled back */
  assert_int_equal(tally.count[CORRUPT] + tally.count[PHANTOM], 0);
  storage_close(&storage);
}

static void a_log_with_synchronous_normal_loses_commits_at_a_power_loss(void **state) {
  (void)state;
  struct storage storage;
  storage_open(&storage, STORAGE_WAL_NORMAL, 512, 1);
  struct tally tally = lose_power_everywhere(&storage);
  print_tally("power lost", &storage, &tally);
  assert_true(tally.count[LOST] > 50);
  assert_int_equal(tally.count[CORRUPT] + tally.count[PHANTOM], 0);
  storage_close(&storage);
}

static void neither_loses_anything_when_only_the_process_dies(void **state) {
  (void)state;
  static const enum storage_mode modes[] = {STORAGE_DELETE_FULL, STORAGE_WAL_NORMAL};
  for (size_t m = 0; m < 2; m++) {
    struct storage storage;
    struct tally tally = {0};
    storage_open(&storage, modes[m], 512, 1);
    learn_history(&storage);
    for (uint64_t at = 1; at <= operations_of_history + 1; at++) {
      int acknowledged = run_history(&storage, SHIM_PROCESS_DIES, SHIM_AFTER, at);
      storage_process_crash(&storage, 0, true, false);
      enter(&tally, judge(&storage, acknowledged));
    }
    assert_int_equal(damaged(&tally), 0);
    storage_close(&storage);
  }
}

static void a_disk_whose_syncs_lie_is_found(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) {
    struct tally tally = {0};
    learn_history(&storage);
    for (uint64_t at = 1; at <= operations_of_history + 1; at++) {
      for (int which = 0; which < 2 + TORN_DICE; which++) {
        storage_begin_run(&storage, 1);
        shim.syncs_lie = true;
        int acknowledged = 0;
        shim.strike = SHIM_POWER_LOSS;
        shim.at = at;
        while (acknowledged < COMMITS && transact(&storage, acknowledged) == SQLITE_OK) acknowledged++;
        shim = (struct shim){.disk = &storage.disk};
        storage_power_loss(&storage, fate_of(which), at, false);
        enter(&tally, judge(&storage, acknowledged));
      }
    }
    print_tally("syncs lie", &storage, &tally);
    assert_true(tally.count[LOST] > 0 && tally.count[CORRUPT] > 0);
  }
}

/* Run the history with a failed sync, carry on as if the node did not stop, then lose power somewhere and count the
   databases that are not sound afterwards. */
static uint64_t count_unsound_when_carried_on(struct storage *storage, uint64_t runs) {
  uint64_t dice = 3, unsound = 0;
  learn_history(storage);
  uint64_t syncs = shim.sync_count;
  for (uint64_t run = 0; run < runs; run++) {
    storage_begin_run(storage, 1);
    shim.strike = SHIM_SYNC_ERROR;
    shim.at = 1 + support_below(&dice, syncs);
    int number = 0;
    while (number < COMMITS && transact(storage, number) == SQLITE_OK) number++;
    if (!sqlite3_get_autocommit(storage->connection[0].db)) storage_step(storage->connection[0].rollback);
    shim = (struct shim){.disk = &storage->disk, .strike = SHIM_POWER_LOSS, .at = 1 + support_below(&dice, 60)};
    for (; number < COMMITS && !shim.struck; number++) {
      if (transact(storage, number) != SQLITE_OK && !sqlite3_get_autocommit(storage->connection[0].db))
        storage_step(storage->connection[0].rollback);
    }
    storage_power_loss(storage, SIM_FATE_TORN, support_random(&dice), false);
    unsound += !storage_is_sound(storage, 0);
  }
  return unsound;
}

static void carrying_on_after_a_failed_sync_corrupts_a_truncated_journal(void **state) {
  (void)state;
  struct storage storage;
  storage_open(&storage, STORAGE_TRUNCATE_FULL, 512, 1);
  uint64_t unsound = count_unsound_when_carried_on(&storage, 3000);
  print_message("%s: %d of 3000 corrupt\n", storage_mode_name(storage.mode), (int)unsound);
  assert_true(unsound > 0);
  storage_close(&storage);
}

static void carrying_on_after_a_failed_sync_corrupts_neither_sound_mode(void **state) {
  (void)state;
  struct storage storage;
  FOR_SOUND_MODES(&storage) assert_int_equal(count_unsound_when_carried_on(&storage, 1000), 0);
}

int main(void) {
  const struct CMUnitTest commit_test[] = {
      cmocka_unit_test(power_lost_at_any_operation_leaves_the_state_before_or_after),
      cmocka_unit_test(a_connection_opened_anew_reads_the_same_as_the_one_that_was_kept),
      cmocka_unit_test(after_recovery_the_history_goes_on_and_survives_the_next_power_loss),
      cmocka_unit_test(a_second_power_loss_inside_the_recovery_loses_nothing),
      cmocka_unit_test(a_process_that_dies_at_any_operation_leaves_the_state_before_or_after),
      cmocka_unit_test(power_lost_at_a_phase_of_a_commit_leaves_the_state_before_or_after),
      cmocka_unit_test(a_failed_sync_followed_by_a_stop_leaves_the_state_before_or_after),
      cmocka_unit_test(a_full_disk_fails_the_commit_and_leaves_the_state_before),
      cmocka_unit_test(a_commit_that_failed_may_be_there_all_the_same),
      cmocka_unit_test(a_log_is_checkpointed_into_the_database_within_the_history),
      cmocka_unit_test(rollback_journal_with_synchronous_full_loses_commits_at_a_power_loss),
      cmocka_unit_test(a_log_with_synchronous_normal_loses_commits_at_a_power_loss),
      cmocka_unit_test(neither_loses_anything_when_only_the_process_dies),
      cmocka_unit_test(a_disk_whose_syncs_lie_is_found),
      cmocka_unit_test(carrying_on_after_a_failed_sync_corrupts_a_truncated_journal),
      cmocka_unit_test(carrying_on_after_a_failed_sync_corrupts_neither_sound_mode),
  };
  return cmocka_run_group_tests(commit_test, NULL, NULL);
}
