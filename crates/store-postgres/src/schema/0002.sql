-- A thread is deleted as somebody has seen it, or not at all: another instance may have opened a run there since.
DROP FUNCTION delete_thread(text, text, text);

CREATE FUNCTION delete_thread(
  the_app text, the_owner text, the_name text, seen_incarnation bigint, seen_tail bigint, seen_runs bigint, seen_updated bigint
) RETURNS TABLE (outcome integer, incarnation bigint)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
  the_thread bigint := lock_thread(the_app, the_owner, the_name);
  t thread%ROWTYPE;
  h head%ROWTYPE;
BEGIN
  IF the_thread IS NULL THEN RETURN QUERY SELECT 1, 0::bigint; RETURN; END IF;
  SELECT * INTO t FROM thread WHERE id = the_thread;
  SELECT * INTO h FROM head WHERE thread = the_thread;
  IF seen_incarnation <> t.incarnation OR seen_tail <> h.tail OR seen_runs <> t.runs OR seen_updated <> h.updated THEN
    RETURN QUERY SELECT 14, t.incarnation; RETURN;
  END IF;
  DELETE FROM head WHERE thread = the_thread;
  DELETE FROM batch WHERE thread = the_thread;
  DELETE FROM request WHERE thread = the_thread;
  DELETE FROM checkpoint WHERE thread = the_thread;
  DELETE FROM append_key WHERE thread = the_thread;
  DELETE FROM message WHERE thread = the_thread;
  DELETE FROM interrupt WHERE thread = the_thread;
  DELETE FROM run WHERE thread = the_thread;
  DELETE FROM thread WHERE id = the_thread;
  PERFORM use_more(the_app, the_owner, -1, -t.counted);
  RETURN QUERY SELECT 0, t.incarnation;
END
$$;
