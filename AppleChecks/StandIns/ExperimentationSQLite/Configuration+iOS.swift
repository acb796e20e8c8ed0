internal import GRDB

extension Configuration {
    /// A property that the library has on iOS alone.
    var automaticMemoryManagement: Bool {
        get { true }
        set {}
    }
}
