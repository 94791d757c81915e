-- A change stream; its mark is the last one applied.
job {}
apply_changes { extract { from = "changes" }, into = "dw_stream", key = "id", order = "seq" }
