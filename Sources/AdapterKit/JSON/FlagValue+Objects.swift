import Experimentation

extension [String: FlagValue] {
    /// The members of the object under a name; none if there is no object.
    ///
    /// An object without members is removed.
    package subscript(object name: String) -> Self {
        get { self[name]?.objectValue ?? [:] }
        set {
            if newValue.isEmpty {
                removeValue(forKey: name)
            } else {
                self[name] = .object(newValue)
            }
        }
    }
}
