/// Values of single flags that this process substitutes for the vendor's, for development, tests and previews.
///
/// They work with every vendor, even before there are decisions and while the kill switch is on. Their reason is
/// ``Reason/localOverride``; they are never exposed, and last only as long as the client. To force a variation of an
/// experiment, across restarts and with the vendor's knowledge, use ``force(_:)``.
extension ExperimentationClient {
    /// The overriding values by flag.
    ///
    /// If the keys of two flags are equal by the rules of Unicode, the dictionary contains only one of them; both flags
    /// are overridden nevertheless.
    public var flagOverrides: [String: FlagValue] { core.flagOverrides.all }

    /// Overrides a flag for all users, from the next read on; `nil` removes the override.
    public func overrideFlag(_ key: String, with value: (any AttributeConvertible)?) {
        let value = value?.attributeValue
        core.flagOverrides.set(value == FlagValue.null ? Optional.none : value, for: key)
        core.announceOverride(of: [key])
    }

    /// Removes the overrides of all flags.
    public func removeFlagOverrides() {
        let keys = Set(core.flagOverrides.all.keys)
        core.flagOverrides.removeAll()
        core.announceOverride(of: keys)
    }
}

extension UserSession {
    /// The value that overrides a flag, or `nil`.
    package func flagOverride(of key: String) -> FlagValue? { core.flagOverrides[key] }
}

extension ClientCore {
    /// Whether a read can't take the short path: there are hooks or overrides.
    @inline(__always)
    var isDetoured: Bool { !hooks.isEmpty || !flagOverrides.isEmpty }

    fileprivate func announceOverride(of keys: Set<String>) {
        guard !keys.isEmpty else { return }
        for session in sessions.all { session.announceChange(of: keys) }
    }
}
