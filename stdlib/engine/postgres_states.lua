-- What a sandbox in PostgreSQL keeps its states with: functions in a schema of its
-- own. A state is the rows of every table of both sides as JSON, with a name for
-- each table's structure; of each structure one empty table is kept to make it anew.
-- @S and @W stand for the sides' schemas, @K for the keeper's.
return { [[
CREATE FUNCTION @K.structure(t oid) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT 't' || md5(concat(c.relname,
    (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attcollation,
       pg_get_expr(d.adbin, d.adrelid)), ',' ORDER BY a.attnum)
     FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    (SELECT string_agg(x.def, ',' ORDER BY x.def)
     FROM (SELECT regexp_replace(pg_get_indexdef(i.indexrelid), 'INDEX \S+ ON', 'INDEX ON') AS def FROM pg_index i
           WHERE i.indrelid = c.oid) AS x),
    (SELECT string_agg(pg_get_constraintdef(k.oid), ',' ORDER BY pg_get_constraintdef(k.oid)) FROM pg_constraint k
     WHERE k.conrelid = c.oid),
    (SELECT string_agg(g.tgname, ',' ORDER BY g.tgname) FROM pg_trigger g
     WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgname <> 'learn_guard')))
  FROM pg_class c WHERE c.oid = t
$$]], [[
CREATE FUNCTION @K.rows_of(t regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE out text;
BEGIN
  EXECUTE format('SELECT coalesce(json_agg(x), ''[]'')::text FROM %s AS x', t) INTO out;
  RETURN out;
END $$]], [[
CREATE FUNCTION @K.state() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  t record;
  kept text;
  list jsonb := '[]';
BEGIN
  FOR t IN SELECT c.oid, n.nspname AS side, c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname IN ('@S', '@W') AND c.relkind = 'r' ORDER BY c.oid LOOP
    kept := @K.structure(t.oid);
    IF to_regclass('@K.' || kept) IS NULL THEN
      EXECUTE format('CREATE TABLE @K.%I (LIKE %s INCLUDING ALL)', kept, t.oid::regclass);
    END IF;
    list := list || jsonb_build_object('side', t.side, 'name', t.name, 'kept', kept, 'rows', @K.rows_of(t.oid));
  END LOOP;
  RETURN list::text;
END $$]], [[
CREATE FUNCTION @K.guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(current_setting('lrun.learn', true), '') <> 'on' THEN
    RAISE EXCEPTION 'the source is read only: %.% cannot be written', 'source', TG_TABLE_NAME USING ERRCODE = '25006';
  END IF;
  RETURN NULL;
END $$]], [[
CREATE FUNCTION @K.protect() RETURNS void LANGUAGE plpgsql AS $$
DECLARE t record;
BEGIN
  FOR t IN SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '@S' AND c.relkind = 'r'
           AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgname = 'learn_guard') LOOP
    EXECUTE format('CREATE TRIGGER learn_guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s EXECUTE FUNCTION @K.guard()',
                   t.oid::regclass);
  END LOOP;
END $$]], [[
CREATE FUNCTION @K.restore(state text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  t record;
  one record;
BEGIN
  FOR t IN SELECT c.oid, c.relkind, n.nspname AS side, c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname IN ('@S', '@W') AND c.relkind IN ('r', 'v', 'm', 'p') LOOP
    IF NOT EXISTS (SELECT 1 FROM pg_class WHERE oid = t.oid) THEN CONTINUE; END IF;
    IF NOT EXISTS (SELECT 1 FROM jsonb_to_recordset(state::jsonb) AS x(side text, name text, kept text)
                   WHERE x.side = t.side AND x.name = t.name AND t.relkind = 'r' AND x.kept = @K.structure(t.oid)) THEN
      EXECUTE format('DROP %s %I.%I CASCADE',
                     CASE t.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, t.side, t.name);
    END IF;
  END LOOP;
  FOR t IN SELECT * FROM jsonb_to_recordset(state::jsonb) AS x(side text, name text, kept text, rows text) LOOP
    IF to_regclass(format('%I.%I', t.side, t.name)) IS NULL THEN
      EXECUTE format('CREATE TABLE %I.%I (LIKE @K.%I INCLUDING ALL)', t.side, t.name, t.kept);
    END IF;
    IF @K.rows_of(format('%I.%I', t.side, t.name)::regclass) <> t.rows THEN
      EXECUTE format('DELETE FROM %I.%I', t.side, t.name);
      EXECUTE format('INSERT INTO %1$I.%2$I OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::%1$I.%2$I, $1::json)',
                     t.side, t.name) USING t.rows;
    END IF;
    FOR one IN SELECT a.attname FROM pg_attribute a
               WHERE a.attrelid = format('%I.%I', t.side, t.name)::regclass AND a.attidentity <> '' LOOP
      EXECUTE format('SELECT setval(pg_get_serial_sequence(''%1$I.%2$I'', %3$L), ' ||
                     '(SELECT coalesce(max(%3$I), 0) + 1 FROM %1$I.%2$I), false)', t.side, t.name, one.attname);
    END LOOP;
  END LOOP;
  PERFORM @K.protect();
END $$]], [[
CREATE FUNCTION @S.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(current_setting('lrun.clock', true), '')::timestamptz, pg_catalog.now())
$$]] }
