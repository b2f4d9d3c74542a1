# announce: says that the time is up.
announce() {
  :
}
