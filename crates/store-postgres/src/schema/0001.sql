-- Threads, runs and records. Persisted, so must be kept stable: what changes comes in a file of its own behind this one.
--
-- Offsets, sizes and times (milliseconds since 1970) are bigint. Names are texts in which U+0000 and U+0001, of which PostgreSQL does not have the
-- first, are written as U+0001 and one of the digits 1 and 2: exact, in the order of their bytes, and legible.
--
-- Whoever writes to a thread locks its head first, those of several in the order of their numbers. What is decided about a thread is therefore decided in
-- one order.

CREATE TABLE thread (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app          text COLLATE "C" NOT NULL,
  owner        text COLLATE "C" NOT NULL,
  name         text COLLATE "C" NOT NULL,
  incarnation  bigint NOT NULL,
  first        bigint NOT NULL DEFAULT 0,
  runs         bigint NOT NULL DEFAULT 0,
  ended        bigint NOT NULL DEFAULT 0,
  -- How many of its bytes are in `usage`: all of them when no run goes on.
  counted      bigint NOT NULL DEFAULT 0,
  created      bigint NOT NULL,
  -- When it was updated, if no run goes on: lists are found by it. While one goes on it is null, so that appends change nothing that is indexed.
  idle_since   bigint,
  metadata     text NOT NULL,
  archived     boolean NOT NULL,
  agent        text,
  labels       text[] NOT NULL,
  words        text[] NOT NULL,
  UNIQUE (app, owner, name)
) WITH (fillfactor = 70);
CREATE INDEX thread_incarnation ON thread (incarnation);
CREATE INDEX thread_idle ON thread (app, owner, idle_since DESC, name) WHERE idle_since IS NOT NULL;
CREATE INDEX thread_idle_all ON thread (idle_since DESC, app, owner, name) WHERE idle_since IS NOT NULL;
CREATE INDEX thread_running ON thread (app, owner) WHERE idle_since IS NULL;
CREATE INDEX thread_words ON thread USING gin (words);

-- What an append to the last run of a thread decides by and changes, and nothing else: rows as small as they can be.
CREATE TABLE head (
  thread   bigint PRIMARY KEY,
  tail     bigint NOT NULL DEFAULT 0,
  bytes    bigint NOT NULL DEFAULT 0,
  updated  bigint NOT NULL,
  -- The last run, while it goes on. Its own row has the epoch, too, and the other two when it ends or another is opened.
  run      bigint,
  epoch    bigint,
  last     bigint NOT NULL DEFAULT 0,
  records  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE run (
  thread          bigint NOT NULL,
  no              bigint NOT NULL,
  id              text COLLATE "C" NOT NULL,
  parent          bigint,
  spawned_by      text,
  base_state      text NOT NULL,
  request_digest  text NOT NULL,
  -- What was drawn for its opening: whoever asks again because the answer was lost is known by it.
  token           bigint NOT NULL,
  first           bigint NOT NULL,
  last            bigint NOT NULL,
  records         bigint NOT NULL,
  started         bigint NOT NULL,
  ended           bigint,
  ended_at        bigint,
  status          text NOT NULL DEFAULT 'running',
  ending          text,
  epoch           bigint NOT NULL DEFAULT 1,
  lease_until     bigint NOT NULL,
  said            bigint,
  history         bigint,
  messages        bigint[],
  compacted       boolean NOT NULL DEFAULT false,
  -- Whether all of its records are in packed rows.
  sealed          boolean NOT NULL DEFAULT false,
  PRIMARY KEY (thread, no),
  UNIQUE (thread, id)
) WITH (fillfactor = 70);
-- Threads differ by orders of magnitude in how many they have, and plans are made once for all of them: both columns of a key are to be used.
ALTER TABLE run ALTER COLUMN thread SET (n_distinct = -0.5);
CREATE INDEX run_leases ON run (lease_until) WHERE ended IS NULL;
CREATE INDEX run_unfolded ON run (thread, no) WHERE ended IS NOT NULL AND said IS NULL;
CREATE INDEX run_histories ON run (thread, said, history) WHERE said IS NOT NULL;
CREATE INDEX run_unsealed ON run (ended) WHERE ended IS NOT NULL AND NOT sealed;

-- Records that came together, or that were packed together when their run had ended. Always of one run, and without a gap.
CREATE TABLE batch (
  thread  bigint NOT NULL,
  first   bigint NOT NULL,
  count   integer NOT NULL,
  run     bigint NOT NULL,
  time    bigint NOT NULL,
  token   bigint NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (thread, first)
);
ALTER TABLE batch ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE request (
  thread  bigint NOT NULL,
  run     bigint NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (thread, run)
);
ALTER TABLE request ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE checkpoint (
  thread        bigint NOT NULL,
  run           bigint NOT NULL,
  version       bigint NOT NULL,
  stands_alone  boolean NOT NULL,
  delta         bytea NOT NULL,
  whole         bytea,
  chained       text,
  words         text[] NOT NULL,
  PRIMARY KEY (thread, run)
);
ALTER TABLE checkpoint ALTER COLUMN delta SET STORAGE EXTERNAL;
ALTER TABLE checkpoint ALTER COLUMN whole SET STORAGE EXTERNAL;
CREATE INDEX checkpoint_words ON checkpoint USING gin (words);

CREATE TABLE append_key (
  thread  bigint NOT NULL,
  run     bigint NOT NULL,
  key     text COLLATE "C" NOT NULL,
  first   bigint NOT NULL,
  count   integer NOT NULL,
  time    bigint NOT NULL,
  PRIMARY KEY (thread, run, key)
);

-- Messages that a run held, and interrupts that it opened, by which the run that another continues is found.
CREATE TABLE message (
  thread  bigint NOT NULL,
  hash    bigint NOT NULL,
  run     bigint NOT NULL,
  PRIMARY KEY (thread, hash, run)
);
ALTER TABLE message ALTER COLUMN thread SET (n_distinct = -0.5);
-- An id that is too long for an index is there by its digest.
CREATE TABLE interrupt (
  thread  bigint NOT NULL,
  id      text COLLATE "C" NOT NULL,
  run     bigint NOT NULL,
  PRIMARY KEY (thread, id, run)
);

-- What scopes keep: the sum over all slots, and what threads have that is not counted yet. Connections write to different ones, so that they do not wait
-- for each other.
CREATE TABLE usage (
  app      text COLLATE "C" NOT NULL,
  owner    text COLLATE "C" NOT NULL,
  slot     integer NOT NULL,
  threads  bigint NOT NULL,
  bytes    bigint NOT NULL,
  PRIMARY KEY (app, owner, slot)
) WITH (fillfactor = 70);

CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- A lease as it is asked for, but never longer than that by our own clock.
CREATE FUNCTION lease(until bigint, since bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT least(until, now_ms() + (until - greatest(since, 0))) $$;

CREATE FUNCTION use_more(app text, owner text, more_threads bigint, more_bytes bigint) RETURNS void LANGUAGE sql VOLATILE AS
$$
  INSERT INTO usage AS u (app, owner, slot, threads, bytes) VALUES ($1, $2, pg_backend_pid() & 15, $3, $4)
  ON CONFLICT (app, owner, slot) DO UPDATE SET threads = u.threads + excluded.threads, bytes = u.bytes + excluded.bytes
$$;

-- Locks a thread, for whoever is about to write to it, and says which it is; null if it is not there.
CREATE FUNCTION lock_thread(the_app text, the_owner text, the_name text) RETURNS bigint LANGUAGE sql VOLATILE AS
$$
  SELECT h.thread FROM head AS h
    WHERE h.thread = (SELECT t.id FROM thread AS t WHERE t.app = the_app AND t.owner = the_owner AND t.name = the_name) FOR NO KEY UPDATE
$$;

-- Appends batches, of different threads each, where more has to be known than the threads' heads say, and says what has become of each: 0 it was appended,
-- or why not. The order of the reasons is that of the engine's own rules.
CREATE FUNCTION append(
  apps text[], owners text[], names text[], incarnations bigint[], runs bigint[], epochs bigint[],
  counts integer[], sizes bigint[], bodies bytea[], expected bigint[], only_rejected boolean[],
  keys text[], times bigint[], tokens bigint[], are_retried boolean[], endings text[], statuses text[],
  interrupts_of integer[], interrupts text[]
) RETURNS TABLE (
  place bigint, outcome integer, at bigint, count integer, taken bigint, incarnation bigint, epoch bigint, detail text, thread bigint
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  locked bigint[];
BEGIN
  -- In one order for everybody, so that nobody waits in a circle.
  locked := ARRAY(SELECT h.thread FROM head AS h
    JOIN thread AS t ON t.id = h.thread JOIN unnest(apps, owners, names) AS w (app, owner, name) USING (app, owner, name)
    ORDER BY h.thread FOR NO KEY UPDATE OF h);
  RETURN QUERY
  WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(apps, owners, names, incarnations, runs, epochs, counts, sizes, bodies, expected, only_rejected, keys,
        times, tokens, are_retried, endings, statuses) WITH ORDINALITY
      AS w (app, owner, name, incarnation, run, epoch, count, size, body, expected, only_rejected, key,
        time, token, is_retried, ending, status, place)
  ), judged AS MATERIALIZED (
    SELECT w.*, t.id AS thread, t.incarnation AS current, t.idle_since, t.runs, t.ended + (w.ending IS NOT NULL)::integer AS ended,
      h.tail, h.updated, h.bytes + w.size AS bytes, h.bytes + w.size - t.counted AS uncounted, h.run = w.run AND h.run IS NOT NULL AS is_head,
      CASE WHEN w.run = h.run THEN h.records ELSE r.records END AS records, r.epoch AS current_epoch, r.id AS run_id,
      coalesce(k.first, b.first) AS known_first, coalesce(k.count, b.count) AS known_count, coalesce(k.time, b.time) AS known_time,
      CASE
        WHEN t.id IS NULL THEN 1
        WHEN w.incarnation <> t.incarnation THEN 2
        WHEN r.no IS NULL THEN 3
        WHEN b.first IS NOT NULL THEN 10
        WHEN k.first IS NOT NULL THEN 4
        WHEN w.count = 0 THEN 5
        WHEN w.epoch <> r.epoch THEN 6
        WHEN r.ended IS NOT NULL AND (w.ending IS NOT NULL OR NOT w.only_rejected) THEN 7
        WHEN w.expected <> h.tail THEN 8
        ELSE 0
      END AS outcome
    FROM wanted AS w
      LEFT JOIN thread AS t ON (t.app, t.owner, t.name) = (w.app, w.owner, w.name) AND t.id = ANY (locked)
      LEFT JOIN head AS h ON h.thread = t.id
      LEFT JOIN LATERAL (SELECT * FROM run AS r WHERE r.thread = t.id AND r.no = w.run LIMIT 1) AS r ON true
      LEFT JOIN append_key AS k ON k.thread = t.id AND k.run = w.run AND k.key = w.key
      -- Only of one whose answer was lost it has to be known whether it is there.
      LEFT JOIN LATERAL (
        SELECT b.first, b.count, b.time FROM batch AS b
          WHERE w.is_retried AND b.thread = t.id AND b.run = w.run AND b.token = w.token AND b.first >= r.first
          LIMIT 1
      ) AS b ON true
  ), taken AS MATERIALIZED (
    SELECT *, greatest(time, updated) AS at_time FROM judged WHERE outcome = 0
  ), put AS (
    INSERT INTO batch (thread, first, count, run, time, token, body)
      SELECT thread, tail, count, run, at_time, token, body FROM taken
  ), moved AS (
    UPDATE head AS h SET tail = w.tail + w.count, bytes = w.bytes, updated = w.at_time,
        run = CASE WHEN NOT w.is_head OR w.ending IS NULL THEN h.run END, epoch = CASE WHEN NOT w.is_head OR w.ending IS NULL THEN h.epoch END,
        last = CASE WHEN w.is_head THEN w.tail + w.count ELSE h.last END,
        records = CASE WHEN w.is_head THEN w.records + w.count ELSE h.records END
      FROM taken AS w WHERE h.thread = w.thread
  ), settled AS (
    UPDATE thread AS t SET ended = w.ended, idle_since = CASE WHEN w.runs = w.ended THEN w.at_time END,
        counted = CASE WHEN w.runs = w.ended THEN w.bytes ELSE t.counted END
      FROM taken AS w WHERE t.id = w.thread AND (w.ending IS NOT NULL OR w.idle_since IS NOT NULL)
  ), grown AS (
    UPDATE run AS r SET first = CASE w.records WHEN 0 THEN w.tail ELSE r.first END, last = w.tail + w.count,
        records = w.records + w.count,
        ended = CASE WHEN w.ending IS NULL THEN r.ended ELSE w.at_time END,
        ended_at = CASE WHEN w.ending IS NULL THEN r.ended_at ELSE w.tail + w.count END,
        ending = coalesce(w.ending, r.ending), status = coalesce(w.status, r.status), sealed = false
      FROM taken AS w WHERE r.thread = w.thread AND r.no = w.run
  ), keyed AS (
    INSERT INTO append_key (thread, run, key, first, count, time)
      SELECT thread, run, key, tail, count, at_time FROM taken WHERE key IS NOT NULL
  ), asked AS (
    INSERT INTO interrupt (thread, id, run)
      SELECT DISTINCT w.thread, i.id, w.run FROM unnest(interrupts_of, interrupts) AS i (place, id) JOIN taken AS w USING (place)
      ON CONFLICT DO NOTHING
  ), used AS (
    INSERT INTO usage AS u (app, owner, slot, threads, bytes)
      SELECT app, owner, pg_backend_pid() & 15, 0, sum(uncounted) FROM taken WHERE runs = ended GROUP BY app, owner ORDER BY app, owner
      ON CONFLICT (app, owner, slot) DO UPDATE SET bytes = u.bytes + excluded.bytes
  )
  SELECT j.place, j.outcome, coalesce(j.known_first, j.tail), coalesce(j.known_count, j.count),
      coalesce(j.known_time, greatest(j.time, j.updated)), j.current, j.current_epoch, j.run_id, j.thread
    FROM judged AS j;
END
$$;

-- Opens a run, and makes its thread if it is not there.
CREATE FUNCTION open_run(
  the_app text, the_owner text, the_name text, the_incarnation bigint, the_metadata text, is_archived boolean, the_agent text,
  the_labels text[], the_words text[], seen_runs bigint, seen_ended bigint, run_id text, the_parent bigint, the_spawner text,
  the_base_state text, the_request bytea, the_digest text, record_count integer, size bigint, the_body bytea, the_key text,
  expected bigint, the_ending text, the_status text, the_interrupts text[], lease_until bigint, the_time bigint, the_token bigint,
  keys_kept bigint
) RETURNS TABLE (outcome integer, run bigint, incarnation bigint, at bigint, taken bigint, thread bigint)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  the_thread bigint := lock_thread(the_app, the_owner, the_name);
  t thread%ROWTYPE;
  h head%ROWTYPE;
  known run%ROWTYPE;
  at_time bigint;
  until bigint := lease(lease_until, the_time);
  is_over boolean := the_ending IS NOT NULL;
  is_idle boolean;
BEGIN
  IF the_thread IS NULL THEN
    -- Refused without a trace.
    IF seen_runs <> 0 OR seen_ended <> 0 THEN RETURN QUERY SELECT 9, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint; RETURN; END IF;
    IF the_parent IS NOT NULL THEN RETURN QUERY SELECT 3, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint; RETURN; END IF;
    IF expected <> 0 THEN RETURN QUERY SELECT 8, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint; RETURN; END IF;
    INSERT INTO thread (app, owner, name, incarnation, created, idle_since, metadata, archived, agent, labels, words)
      VALUES (the_app, the_owner, the_name, the_incarnation, the_time, the_time, the_metadata, is_archived, the_agent, the_labels, the_words)
      ON CONFLICT DO NOTHING RETURNING id INTO the_thread;
    IF FOUND THEN
      INSERT INTO head (thread, updated) VALUES (the_thread, the_time);
      PERFORM use_more(the_app, the_owner, 1, 0);
    ELSE
      -- Somebody else was faster.
      the_thread := lock_thread(the_app, the_owner, the_name);
      -- And it is gone again.
      IF the_thread IS NULL THEN RETURN QUERY SELECT 9, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint; RETURN; END IF;
    END IF;
  END IF;
  SELECT * INTO t FROM thread WHERE id = the_thread;
  SELECT * INTO h FROM head WHERE thread = the_thread;
  SELECT * INTO known FROM run WHERE thread = t.id AND id = run_id;
  IF known.token = the_token THEN
    RETURN QUERY SELECT 0, known.no, t.incarnation, known.first, known.started, t.id; RETURN;
  END IF;
  IF t.runs <> seen_runs OR t.ended <> seen_ended THEN RETURN QUERY SELECT 9, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint; RETURN; END IF;
  IF known.no IS NOT NULL THEN RETURN QUERY SELECT 11, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint; RETURN; END IF;
  IF the_parent >= t.runs THEN RETURN QUERY SELECT 3, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint; RETURN; END IF;
  IF expected <> h.tail THEN RETURN QUERY SELECT 8, 0::bigint, 0::bigint, h.tail, 0::bigint, 0::bigint; RETURN; END IF;
  at_time := greatest(the_time, h.updated);
  UPDATE run SET last = h.last, records = h.records WHERE thread = t.id AND no = h.run;
  -- Keys of runs that ended too long ago go with the next one that is opened.
  DELETE FROM append_key AS k USING run AS r
    WHERE k.thread = t.id AND r.thread = t.id AND r.no = k.run AND r.ended <= at_time - keys_kept;
  INSERT INTO run (thread, no, id, parent, spawned_by, base_state, request_digest, token, first, last, records, started, lease_until,
      ended, ended_at, ending, status)
    VALUES (t.id, t.runs, run_id, the_parent, the_spawner, the_base_state, the_digest, the_token, h.tail, h.tail + record_count,
      record_count, at_time, until,
      CASE WHEN is_over THEN at_time END, CASE WHEN is_over THEN h.tail + record_count END, the_ending, coalesce(the_status, 'running'));
  INSERT INTO request (thread, run, body) VALUES (t.id, t.runs, the_request);
  IF record_count > 0 THEN
    INSERT INTO batch (thread, first, count, run, time, token, body)
      VALUES (t.id, h.tail, record_count, t.runs, at_time, the_token, the_body);
  END IF;
  IF the_key IS NOT NULL THEN
    INSERT INTO append_key (thread, run, key, first, count, time) VALUES (t.id, t.runs, the_key, h.tail, record_count, at_time);
  END IF;
  INSERT INTO interrupt (thread, id, run) SELECT DISTINCT t.id, i, t.runs FROM unnest(the_interrupts) AS i;
  UPDATE head SET tail = h.tail + record_count, bytes = h.bytes + size, updated = at_time, run = CASE WHEN NOT is_over THEN t.runs END,
      epoch = CASE WHEN NOT is_over THEN 1 END, last = h.tail + record_count, records = record_count
    WHERE thread = t.id;
  is_idle := t.runs + 1 = t.ended + is_over::integer;
  UPDATE thread SET runs = t.runs + 1, ended = t.ended + is_over::integer, idle_since = CASE WHEN is_idle THEN at_time END,
      counted = CASE WHEN is_idle THEN h.bytes + size ELSE t.counted END
    WHERE id = t.id;
  IF is_idle THEN PERFORM use_more(the_app, the_owner, 0, h.bytes + size - t.counted); END IF;
  RETURN QUERY SELECT 0, t.runs, t.incarnation, h.tail, at_time, t.id;
END
$$;

-- Renews the lease of a run, takes it over when it is over, or takes it from whoever has it.
CREATE FUNCTION claim(
  the_app text, the_owner text, the_name text, the_run bigint, the_epoch bigint, how text, lease_until bigint, the_time bigint
) RETURNS TABLE (outcome integer, epoch bigint, detail text)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  the_thread bigint := lock_thread(the_app, the_owner, the_name);
  r run%ROWTYPE;
BEGIN
  IF the_thread IS NULL THEN RETURN QUERY SELECT 1, 0::bigint, ''; RETURN; END IF;
  SELECT * INTO r FROM run WHERE thread = the_thread AND no = the_run;
  IF NOT FOUND THEN RETURN QUERY SELECT 3, 0::bigint, ''; RETURN; END IF;
  IF r.ended IS NOT NULL THEN RETURN QUERY SELECT 7, r.epoch, r.id; RETURN; END IF;
  IF r.epoch <> the_epoch THEN RETURN QUERY SELECT 6, r.epoch, r.id; RETURN; END IF;
  IF how = 'take_over' AND r.lease_until > least(the_time, now_ms()) THEN RETURN QUERY SELECT 12, r.epoch, r.id; RETURN; END IF;
  UPDATE run SET epoch = r.epoch + (how <> 'renew')::integer, lease_until = lease(claim.lease_until, the_time)
    WHERE thread = the_thread AND no = the_run;
  IF how <> 'renew' THEN UPDATE head SET epoch = r.epoch + 1 WHERE thread = the_thread AND run = the_run; END IF;
  RETURN QUERY SELECT 0, r.epoch + (how <> 'renew')::integer, r.id;
END
$$;

-- Describes a thread, if its metadata are as they were seen.
CREATE FUNCTION describe(
  the_thread bigint, seen_metadata text, the_metadata text, is_archived boolean, the_agent text, the_labels text[], the_words text[], the_time bigint
) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
  at_time bigint;
BEGIN
  SELECT greatest(h.updated, the_time) INTO at_time FROM head AS h WHERE h.thread = the_thread FOR NO KEY UPDATE;
  UPDATE thread SET metadata = the_metadata, archived = is_archived, agent = the_agent, labels = the_labels, words = the_words,
      idle_since = CASE WHEN idle_since IS NOT NULL THEN at_time END
    WHERE id = the_thread AND metadata = seen_metadata;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE head SET updated = at_time WHERE thread = the_thread;
  RETURN true;
END
$$;

CREATE FUNCTION put_checkpoint(
  the_app text, the_owner text, the_name text, the_run bigint, the_version bigint, is_alone boolean, the_delta bytea, the_whole bytea,
  the_chained text, the_words text[], the_said bigint, the_history bigint, the_messages bigint[]
) RETURNS TABLE (outcome integer, detail text)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  the_thread bigint := lock_thread(the_app, the_owner, the_name);
  r run%ROWTYPE;
BEGIN
  IF the_thread IS NULL THEN RETURN QUERY SELECT 1, ''; RETURN; END IF;
  SELECT * INTO r FROM run WHERE thread = the_thread AND no = the_run;
  IF NOT FOUND THEN RETURN QUERY SELECT 3, ''; RETURN; END IF;
  IF r.ended IS NULL THEN RETURN QUERY SELECT 12, r.id; RETURN; END IF;
  INSERT INTO checkpoint (thread, run, version, stands_alone, delta, whole, chained, words)
    VALUES (the_thread, the_run, the_version, is_alone, the_delta, the_whole, the_chained, the_words)
    ON CONFLICT (thread, run) DO UPDATE SET version = the_version, stands_alone = is_alone, delta = the_delta, whole = the_whole,
      chained = the_chained, words = the_words;
  IF (r.said, r.history, r.messages) IS DISTINCT FROM (the_said, the_history, the_messages) THEN
    UPDATE run SET said = the_said, history = the_history, messages = the_messages WHERE thread = the_thread AND no = the_run;
    DELETE FROM message WHERE thread = the_thread AND run = the_run;
    INSERT INTO message (thread, hash, run) SELECT DISTINCT the_thread, hash, the_run FROM unnest(the_messages) AS hash;
  END IF;
  RETURN QUERY SELECT 0, '';
END
$$;

CREATE FUNCTION trim_thread(the_app text, the_owner text, the_name text, new_first bigint)
RETURNS TABLE (outcome integer, at bigint)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  the_thread bigint := lock_thread(the_app, the_owner, the_name);
  the_tail bigint;
BEGIN
  IF the_thread IS NULL THEN RETURN QUERY SELECT 1, 0::bigint; RETURN; END IF;
  SELECT tail INTO the_tail FROM head WHERE thread = the_thread;
  IF new_first > the_tail THEN RETURN QUERY SELECT 8, the_tail; RETURN; END IF;
  UPDATE thread SET first = greatest(first, new_first) WHERE id = the_thread;
  DELETE FROM batch WHERE thread = the_thread AND first < new_first AND first + count <= new_first;
  RETURN QUERY SELECT 0, the_tail;
END
$$;

CREATE FUNCTION compact_run(the_app text, the_owner text, the_name text, the_run bigint)
RETURNS TABLE (outcome integer, detail text)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  the_thread bigint := lock_thread(the_app, the_owner, the_name);
  r run%ROWTYPE;
BEGIN
  IF the_thread IS NULL THEN RETURN QUERY SELECT 1, ''; RETURN; END IF;
  SELECT * INTO r FROM run WHERE thread = the_thread AND no = the_run;
  IF NOT FOUND THEN RETURN QUERY SELECT 3, ''; RETURN; END IF;
  IF r.ended IS NULL THEN RETURN QUERY SELECT 12, r.id; RETURN; END IF;
  IF r.said IS NULL THEN RETURN QUERY SELECT 13, r.id; RETURN; END IF;
  UPDATE run SET compacted = true, sealed = true WHERE thread = the_thread AND no = the_run;
  DELETE FROM batch WHERE thread = the_thread AND run = the_run AND first >= r.first AND first < r.last;
  RETURN QUERY SELECT 0, '';
END
$$;

CREATE FUNCTION delete_thread(the_app text, the_owner text, the_name text)
RETURNS TABLE (outcome integer, incarnation bigint)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  the_thread bigint := lock_thread(the_app, the_owner, the_name);
  t thread%ROWTYPE;
BEGIN
  IF the_thread IS NULL THEN RETURN QUERY SELECT 1, 0::bigint; RETURN; END IF;
  DELETE FROM head WHERE thread = the_thread;
  DELETE FROM batch WHERE thread = the_thread;
  DELETE FROM request WHERE thread = the_thread;
  DELETE FROM checkpoint WHERE thread = the_thread;
  DELETE FROM append_key WHERE thread = the_thread;
  DELETE FROM message WHERE thread = the_thread;
  DELETE FROM interrupt WHERE thread = the_thread;
  DELETE FROM run WHERE thread = the_thread;
  DELETE FROM thread WHERE id = the_thread RETURNING * INTO t;
  PERFORM use_more(the_app, the_owner, -1, -t.counted);
  RETURN QUERY SELECT 0, t.incarnation;
END
$$;

-- Puts packed rows in the place of those that were read, if they are still there as they were and nothing has happened to the run since.
CREATE FUNCTION seal(
  the_thread bigint, the_run bigint, seen_first bigint, seen_last bigint, since bigint, until bigint, seen_firsts bigint[], seen_counts integer[],
  firsts bigint[], counts integer[], times bigint[], bodies bytea[]
) RETURNS boolean
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
  PERFORM FROM head WHERE thread = the_thread FOR NO KEY UPDATE;
  PERFORM FROM thread WHERE id = the_thread AND first = seen_first;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM FROM run WHERE thread = the_thread AND no = the_run AND last = seen_last AND NOT compacted AND NOT sealed;
  IF NOT FOUND THEN RETURN false; END IF;
  -- Somebody else may have packed some of them, and more with them.
  IF (seen_firsts, seen_counts) IS DISTINCT FROM (SELECT (coalesce(array_agg(first ORDER BY first), '{}'), coalesce(array_agg(count ORDER BY first), '{}'))
      FROM batch WHERE thread = the_thread AND run = the_run AND first >= since AND first < until) THEN
    RETURN false;
  END IF;
  DELETE FROM batch WHERE thread = the_thread AND run = the_run AND first >= since AND first < until;
  INSERT INTO batch (thread, first, count, run, time, token, body)
    SELECT the_thread, f, c, the_run, t, 0, b FROM unnest(firsts, counts, times, bodies) AS packed (f, c, t, b);
  IF until >= seen_last THEN UPDATE run SET sealed = true WHERE thread = the_thread AND no = the_run; END IF;
  RETURN true;
END
$$;
