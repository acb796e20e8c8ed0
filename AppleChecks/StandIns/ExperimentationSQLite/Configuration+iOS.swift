internal import GRDB

extension Configuration {
    /// A property that the library has only on iOS.
    var automaticMemoryManagement: Bool {
        get { true }
        set {}
    }
}
