import Experimentation
import Foundation

/// Builds a visitor; ``build()`` creates it.
public struct FlagshipVisitorBuilder: Sendable {
    let flagship: Flagship
    let visitorID: String
    var hasConsented: Bool
    let instance: Flagship.Instance
    var context: [String: FlagValue] = [:]
    var isAuthenticated = false
    var onFetchStatusChanged: FlagshipFetchListener?

    /// Sets the context; values that the vendor has no type for, and one for `fs_users` that isn't the visitor's id,
    /// are left out and logged.
    public func context(_ context: [String: FlagValue]) -> Self {
        with { $0.context = context }
    }

    /// Sets whether the visitor has consented.
    public func consent(_ hasConsented: Bool) -> Self {
        with { $0.hasConsented = hasConsented }
    }

    /// Sets whether the id names a signed-in user.
    public func authenticated(_ isAuthenticated: Bool) -> Self {
        with { $0.isAuthenticated = isAuthenticated }
    }

    /// Sets a listener that is called for each change of the fetch status, in order and once.
    public func onFetchStatusChanged(
        _ listener: @escaping @Sendable (FlagshipFetchStatus, FlagshipFetchReason) -> Void
    ) -> Self {
        with { $0.onFetchStatusChanged = listener }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    /// Creates the visitor.
    ///
    /// It looks the visitor up in the cache, or deletes it there if the visitor hasn't consented. It tells the vendor
    /// of a refusal, or of a consent that the vendor doesn't know of yet.
    ///
    /// It waits for the look-up no longer than the time-out. For the application's store, and for its cache to delete a
    /// visitor, it waits until they return.
    public func build() async -> FlagshipVisitor {
        let identity = Identity(
            id: visitorID.isEmpty ? flagship.environment.makeID().uppercased() : visitorID,
            // Signing out leaves the installation's anonymous visitor.
            anonymousID: isAuthenticated ? await flagship.deviceID() : nil,
            isAuthenticated: isAuthenticated
        )
        if visitorID.isEmpty {
            flagship.environment.log.log(.warning, .visitor, "the visitor has no id; one was made")
        }
        var values = flagship.options.device.context
        values[FlagshipContextKey.firstTimeInit.rawValue] = .bool(await flagship.isFirstRun())
        values.merge(flagship.usable(context, of: identity.id)) { $1 }
        let visitor = FlagshipVisitor(self, identity, context: values)
        visitor.noteForReports()
        await visitor.prepare()
        if instance == .shared { flagship.share(visitor) }
        return visitor
    }
}

/// The state of this installation: whether this is its first run, and the id of its anonymous visitor.
extension Flagship {
    private static let idKey = "flagship/install/id"
    private static let runKey = "flagship/install/ran"

    /// Returns whether no visitor has been created before; the next call returns `false`.
    fileprivate func isFirstRun() async -> Bool {
        // Of two concurrent calls, only one is the first. If the store can't tell, the run counts as the first.
        guard case .conflict = try? await state.update(Self.runKey, to: [1], if: nil) else { return true }
        return false
    }

    /// Returns the same id in every run of this installation.
    fileprivate func deviceID() async -> String {
        let id = environment.makeID().uppercased()
        if case .conflict(let known?) = try? await state.update(Self.idKey, to: Array(id.utf8), if: nil) {
            return String(decoding: known, as: UTF8.self)
        }
        return id
    }
}

extension Flagship {
    /// Returns the values that an application may set in a visitor's context, and logs why others are left out.
    func usable(_ values: [String: FlagValue], of visitorID: String) -> [String: FlagValue] {
        let users = FlagshipContextKey.users
        let others = values.filter { $0.key == users || !FlagshipTranslation.isContextValue($0.value) }
        // A context that was read from a visitor contains the visitor's own id.
        for (name, value) in others.sorted(by: { $0.key < $1.key }) where value != .string(visitorID) {
            let problem =
                name == users
                ? "is always the visitor's id; another value is left out"
                : "is of a type that Flagship has no word for; it is left out"
            environment.log.log(.error, .updateContext, "\(name) \(problem)")
        }
        return values.filter { others[$0.key] == nil }
    }
}
