"""One entity, one file: what it is (`FooSpec`, checked before anything is declared) and what declares it (`Foo`)."""
