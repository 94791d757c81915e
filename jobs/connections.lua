-- Where the jobs beside this file read and write; paths are relative to it.
return {
  source = "sqlite:../examples/source.db",
  warehouse = "sqlite:../examples/warehouse.db",
}
