import AdapterKit
import Experimentation

/// One user's flags and experiments, in the calls of the vendor's SDK.
///
/// Every reading call first ensures that the configuration is valid, and fetches it if it isn't; nothing is fetched
/// at any other time. Concurrent calls share one request. For callbacks see the methods with `onSuccess` and `onError`.
public final class SigmaClient: Sendable {
    /// Identifies this client.
    public let tag: String

    let profile: SigmaProfile
    private let cache: SigmaConfigurationCache
    private let time: any TimeSource
    private let failures: SigmaClientOptions.Failures

    init(
        _ configuration: SigmaConfiguration,
        refusedURL: String? = nil,
        initialUser: SigmaUser?,
        tag: String,
        after former: SigmaProfile? = nil,
        options: SigmaClientOptions
    ) {
        self.tag = tag
        time = options.environment.time
        failures = options.failures
        let records = SigmaRecords(tag: tag, token: configuration.projectToken, options: options)
        profile = SigmaProfile(initialUser, records: records, after: former, options: options)
        let service = SigmaService(
            configuration,
            transport: options.transport ?? DefaultTransport.make(),
            environment: options.environment,
            refusedURL: refusedURL
        )
        cache = SigmaConfigurationCache(service, records: records, profile: profile, options: options)
    }

    // MARK: The user

    /// Replaces the user, from the next call on; nothing is requested.
    public func setUser(_ user: SigmaUser) { profile.replace(with: user) }

    /// Replaces the user with the builder's properties.
    ///
    /// - Parameter builder: Receives an empty builder and returns it.
    public func setUserProperties(builder: (SigmaUser.Builder) -> SigmaUser.Builder) {
        profile.replace(with: builder(SigmaUser.Builder(time: time)).build())
    }

    /// Changes the properties that the builder sets; the others stay and keep their age.
    ///
    /// - Parameter builder: Receives a builder and returns it.
    public func editUserProperties(builder: (SigmaUser.Builder) -> SigmaUser.Builder) {
        let changes = builder(SigmaUser.Builder(time: time)).changes
        profile.edit { $0.user.set(changes) }
    }

    /// Removes all of the user's properties; the id is then the generated one.
    public func clearUserProperties() { profile.replace(with: SigmaUser()) }

    /// Waits until every change to the user so far is stored.
    ///
    /// It also returns if the store fails: the failure is logged, and the next change stores these changes too.
    public func saved() async { await profile.saved() }

    // MARK: Flags

    /// Returns the value of a flag for this user.
    ///
    /// - Parameter flagName: The flag's name.
    /// - Returns: The value, or `nil` if there is none for this user or it has another type.
    /// - Throws: ``SigmaError/featureFlagNotFound(featureFlag:)``, ``SigmaError/featureFlagNoRules(featureFlag:)``,
    ///   ``SigmaError/featureFlagRulesNotSatisfied(featureFlag:)``, or why there is no configuration.
    public func checkFlag<T: SigmaPropertyType>(flagName: String) async throws(SigmaError) -> T? {
        guard var evaluation = try await leniently(evaluation) else { return nil }
        guard let flag = evaluation.project.flag(named: flagName) else {
            throw .featureFlagNotFound(featureFlag: flagName)
        }
        return try evaluation.value(ofFlag: flag).flatMap { T(sigmaString: $0.text) }
    }

    /// Returns the values of all flags that have one for this user, in their declared types.
    ///
    /// Objects are dictionaries of `FlagValue`. Integers are `Int`, other numbers `Double`.
    public func getUserFeatureFlagsDetails() async throws(SigmaError) -> [String: any SigmaPropertyType] {
        var evaluation = try await evaluation()
        var values: [String: any SigmaPropertyType] = [:]
        for (index, flag) in evaluation.project.flags.enumerated() {
            guard let (text, type) = try? evaluation.value(ofFlag: index) else { continue }
            values[flag.name] = type.property(of: text)
        }
        return values
    }

    // MARK: Both

    /// Returns the evaluation for this user with the valid configuration.
    func evaluation() async throws(SigmaError) -> Evaluation {
        let rules = try await cache.rules()
        let (user, forced) = await profile.evaluated()
        return Evaluation(of: rules.project, in: rules.surroundings, for: user, forcing: forced)
    }

    /// Performs a read that needs the configuration; without one it throws or returns `nil`, depending on the options.
    func leniently<Value>(_ read: () async throws(SigmaError) -> Value) async throws(SigmaError) -> Value? {
        do throws(SigmaError) { return try await read() } catch {
            switch error {
            case .requestConfigFailed where failures == .nil, .requestLocationFailed where failures == .nil: return nil
            default: throw error
            }
        }
    }
}

extension Evaluation {
    /// Returns the text of a flag and its declared type; `nil` if only experiments that the user isn't in have one.
    fileprivate mutating func value(ofFlag index: Int) throws(SigmaError) -> (text: String, type: ValueType)? {
        let flag = project.flags[index]
        switch answer(forFlag: index) {
        case .placed(let placement, let rule, let group, _):
            return flag.placements[placement].rules[group].map { ($0[rule].text, flag.placements[placement].type) }
        case .own(let rule): return flag.rules.map { ($0[rule].text, flag.type) }
        case .unavailable: return nil
        case .noRules: throw .featureFlagNoRules(featureFlag: flag.name)
        case .noRuleSatisfied: throw .featureFlagRulesNotSatisfied(featureFlag: flag.name)
        }
    }
}
