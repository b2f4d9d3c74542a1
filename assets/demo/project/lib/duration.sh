# to_seconds DURATION: prints it in seconds, or fails.
to_seconds() {
  echo "$1"
}
