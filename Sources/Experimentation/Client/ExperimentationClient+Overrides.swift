/// Values of single flags that this process gives in place of the vendor's, for development, tests and previews.
///
/// They work with every vendor, and with none at hand: also before there are decisions, and while the kill switch is on. They
/// are seen as such by ``Reason/localOverride``, never exposed, and forgotten with the client. To force a place in an
/// experiment, over restarts and where the vendor knows of it, use ``force(_:)``.
extension ExperimentationClient {
    /// The values by flag.
    public var flagOverrides: [String: FlagValue] { core.flagOverrides.all }

    /// Gives a flag a value for all users, from the next read on; `nil` gives it back to the vendor.
    public func overrideFlag(_ key: String, with value: (any AttributeConvertible)?) {
        let value = value?.attributeValue
        core.flagOverrides.set(value == FlagValue.null ? Optional.none : value, for: key)
        core.announceOverride(of: [key])
    }

    /// Gives all flags back to the vendor.
    public func removeFlagOverrides() {
        let keys = Set(core.flagOverrides.all.keys)
        core.flagOverrides.removeAll()
        core.announceOverride(of: keys)
    }
}

extension ClientCore {
    /// Whether a read must go the long way: there are hooks, or values that override the vendor's.
    @inline(__always)
    var isDetoured: Bool { !hooks.isEmpty || !flagOverrides.isEmpty }

    fileprivate func announceOverride(of keys: Set<String>) {
        guard !keys.isEmpty else { return }
        for session in sessions.all { session.announceChange(of: keys) }
    }
}
