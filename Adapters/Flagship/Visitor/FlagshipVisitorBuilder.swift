import Experimentation
import Foundation

/// Describes a visitor; ``build()`` makes it.
public struct FlagshipVisitorBuilder: Sendable {
    let flagship: Flagship
    let visitorID: String
    var hasConsented: Bool
    let instance: Flagship.Instance
    var context: [String: FlagValue] = [:]
    var isAuthenticated = false
    var onFetchStatusChanged: (@Sendable (FlagshipFetchStatus, FlagshipFetchReason) -> Void)?

    init(flagship: Flagship, visitorID: String, hasConsented: Bool, instance: Flagship.Instance) {
        self.flagship = flagship
        self.visitorID = visitorID
        self.hasConsented = hasConsented
        self.instance = instance
    }

    /// Sets the context; values without a type of the vendor's are left out and logged.
    public func context(_ context: [String: FlagValue]) -> Self {
        var copy = self
        copy.context = context
        return copy
    }

    /// Says whether the visitor has agreed.
    public func consent(_ hasConsented: Bool) -> Self {
        var copy = self
        copy.hasConsented = hasConsented
        return copy
    }

    /// Says whether the id names a signed-in user.
    public func authenticated(_ isAuthenticated: Bool) -> Self {
        var copy = self
        copy.isAuthenticated = isAuthenticated
        return copy
    }

    /// Names who is told of each change of the fetch status, in order and once.
    public func onFetchStatusChanged(
        _ listener: @escaping @Sendable (FlagshipFetchStatus, FlagshipFetchReason) -> Void
    ) -> Self {
        var copy = self
        copy.onFetchStatusChanged = listener
        return copy
    }

    /// Makes the visitor: looks it up in the cache, or forgets what is there if it hasn't agreed, and tells the vendor of
    /// its consent unless that is known already.
    ///
    /// It takes no longer than the look-up's time-out.
    public func build() async -> FlagshipVisitor {
        let install = FlagshipInstallation(state: flagship.state, environment: flagship.environment)
        let deviceID = isAuthenticated ? await install.deviceID() : ""
        let makeID = flagship.environment.makeID
        let identity = FlagshipIdentity(
            visitorID: visitorID,
            isAuthenticated: isAuthenticated,
            makeID: makeID,
            deviceID: { deviceID }
        )
        let log = flagship.environment.log
        if visitorID.isEmpty { log.log(.warning, .visitor, "the visitor has no id; one was made") }
        for name in FlagshipContextStore.rejected(context) {
            log.log(.error, .updateContext, "\(name) is of a type that Flagship has no word for; it is left out")
        }
        var values = flagship.options.device.context
        values[FlagshipContextKey.firstTimeInit.rawValue] = .bool(await install.isFirstRun())
        values.merge(context) { $1 }
        // The vendor is told once for each visitor, and again only when it changes; before the start and in panic it isn't.
        let status = flagship.status
        var isConsentKnown = status == .notInitialized || status == .panic
        if !isConsentKnown, hasConsented { isConsentKnown = await install.knowsConsent(of: identity.visitorID) }
        let visitor = FlagshipVisitor(
            flagship: flagship,
            identity: identity,
            context: FlagshipContextStore(values),
            hasConsented: hasConsented,
            isConsentKnown: isConsentKnown,
            listener: onFetchStatusChanged
        )
        visitor.noteForReports()
        await visitor.prepare(install, isConsentKnown: isConsentKnown)
        if instance == .shared { flagship.share(visitor) }
        return visitor
    }
}

/// What is known of this installation: whether it runs for the first time, the id of its anonymous visitor,
/// and which consent the vendor has heard of.
struct FlagshipInstallation: Sendable {
    let state: any StateStore
    let environment: ClientEnvironment

    private static let idKey = "flagship/install/id"
    private static let runKey = "flagship/install/ran"

    /// Whether no visitor was made before; asking makes it false.
    func isFirstRun() async -> Bool {
        // Of two that ask at once, one is the first. What a store can't say counts as the first.
        guard case .conflict = try? await state.update(Self.runKey, to: [1], if: nil) else { return true }
        return false
    }

    /// The same id in every run of this installation.
    func deviceID() async -> String {
        let id = environment.makeID().uppercased()
        if case .conflict(let known?) = try? await state.update(Self.idKey, to: Array(id.utf8), if: nil) {
            return String(decoding: known, as: UTF8.self)
        }
        return id
    }

    /// Whether the vendor knows that a visitor has agreed.
    func knowsConsent(of visitorID: String) async -> Bool {
        guard let known = try? await state.value(for: Self.consentKey(visitorID)) else { return false }
        return !known.isEmpty
    }

    /// Notes that the vendor was told that a visitor has agreed, or forgets the visitor.
    func noteConsent(of visitorID: String, _ hasConsented: Bool) async {
        try? await state.setValue(hasConsented ? [1] : nil, for: Self.consentKey(visitorID))
    }

    private static func consentKey(_ visitorID: String) -> String {
        "flagship/consent/\(String(FlagshipMurmur3.hash("a/" + visitorID), radix: 36))-\(String(FlagshipMurmur3.hash("b/" + visitorID), radix: 36))"
    }
}
