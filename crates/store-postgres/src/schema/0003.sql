-- The first checkpoint of a run is kept for the thread that was folded, and only if there is none: another instance may have deleted that
-- thread and made one of its name since, or have kept another checkpoint. The function of 13 arguments stays as it is: instances of before
-- that go on call it, and could continue no thread without it.
CREATE FUNCTION put_checkpoint(
  the_app text, the_owner text, the_name text, first_of bigint, the_run bigint, the_version bigint, is_alone boolean, the_delta bytea,
  the_whole bytea, the_chained text, the_words text[], the_said bigint, the_history bigint, the_messages bigint[]
) RETURNS TABLE (outcome integer, detail text)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  the_thread bigint := lock_thread(the_app, the_owner, the_name);
  r run%ROWTYPE;
BEGIN
  IF the_thread IS NULL THEN RETURN QUERY SELECT 1, ''; RETURN; END IF;
  IF first_of <> (SELECT incarnation FROM thread WHERE id = the_thread) THEN RETURN QUERY SELECT 2, ''; RETURN; END IF;
  SELECT * INTO r FROM run WHERE thread = the_thread AND no = the_run;
  IF NOT FOUND THEN RETURN QUERY SELECT 3, ''; RETURN; END IF;
  IF r.ended IS NULL THEN RETURN QUERY SELECT 12, r.id; RETURN; END IF;
  IF first_of IS NOT NULL AND r.said IS NOT NULL THEN RETURN QUERY SELECT 9, ''; RETURN; END IF;
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
