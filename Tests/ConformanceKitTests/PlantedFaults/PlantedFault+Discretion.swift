import ConformanceKit
import ConformanceSubjects
import Experimentation

/// Leaks of data that must stay secret.
extension PlantedFault {
    private static let key = "k3y-that-nobody-may-see"

    static let discretion: [PlantedFault] = [
        PlantedFault(
            "leaks a key in a log",
            caughtBy: "privacy/no-secrets-in-errors-of-reading",
            accusations: ["the log contains a secret"],
            BentSubject.Bend(
                secrets: [key],
                provider: { provider, _ in
                    BentProvider(provider) { roles, context in
                        guard case .computed(let source) = roles.decisions else { return }
                        let log = context.environment.log
                        roles.decisions = .computed(
                            BentRules(inner: source) { inner, validator async throws(ExperimentationError) in
                                log.log(.debug, "request", "GET /rules?key=\(key)")
                                return try await inner.ruleset(ifNot: validator)
                            }
                        )
                    }
                }
            )
        ),
        PlantedFault(
            "leaks a key in an error",
            caughtBy: "privacy/no-secrets-in-errors-of-reading",
            accusations: ["the log contains a secret"],
            {
                var bend = BentSubject.Bend.fetching { source, validator async throws(ExperimentationError) in
                    do throws(ExperimentationError) { return try await source.ruleset(ifNot: validator) } catch {
                        throw ExperimentationError(error.code, "\(error.message) (key \(key))")
                    }
                }
                bend.secrets = [key]
                return bend
            }()
        ),
        PlantedFault(
            "shows a key when it is dumped",
            caughtBy: "privacy/no-secrets-in-dumps",
            BentSubject.Bend(
                secrets: [key],
                provider: { provider, _ in
                    var copy = BentProvider(provider)
                    copy.scope = key
                    return copy
                }
            )
        ),
        PlantedFault(
            "logs whose decisions it asks for",
            caughtBy: "privacy/no-personal-data-in-the-log",
            alsoBlamedBy: ["privacy/*"],
            BentSubject.Bend(
                provider: { provider, _ in
                    BentProvider(provider) { roles, context in
                        guard case .computed(let source) = roles.decisions else { return }
                        let log = context.environment.log
                        roles.decisions = .computed(
                            BentRules(
                                inner: source,
                                context: { context in
                                    log.log(.debug, "decide", "Deciding for \(context.user.id)")
                                    return context
                                }
                            )
                        )
                    }
                }
            )
        ),
    ]
}
