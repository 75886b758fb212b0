// Linked with every library that decides, whole, and with none of the loop, the network or the
// drive: when this links, they need none of them. See core_links_alone.py for what is looked at.
int main() {
  return 0;
}
