import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation

/// Faults that show only with other events, in a later run, or in the report of a failure.
extension PlantedFault {
    static let batches: [PlantedFault] = [
        PlantedFault(
            "takes an event like an earlier one of its batch for a repetition",
            caughtBy: "delivery/alike-and-yet-two",
            .sending { sink, batch in
                let places = batch.indices.filter { place in
                    !batch[..<place].contains { isAlike($0, batch[place]) }
                }
                var report = DeliveryReport(batch.map { _ in .delivered })
                report.add(await sink.deliver(places.map { batch[$0] }), at: places)
                return report
            }
        ),
        PlantedFault(
            "dates a batch by its first event",
            caughtBy: "delivery/each-at-its-time",
            .sending { sink, batch in await sink.deliver(batch.changed { $0.date = batch[0].date }) }
        ),
        PlantedFault(
            "adds an event's attributes to those that follow it",
            caughtBy: "events/attributes-of-one-event-alone",
            .sending { sink, batch in
                var all = Attributes()
                return await sink.deliver(
                    batch.changed { envelope in
                        all = all.merging(envelope.event.attributes)
                        envelope.event.attributes = all
                    }
                )
            }
        ),
        PlantedFault(
            "makes new ids in every process",
            caughtBy: "delivery/same-ids-after-a-kill",
            .sending(by: {
                let process = UUID().uuidString
                return { sink, batch in await sink.deliver(batch.changed { $0.id += process }, as: batch) }
            })
        ),
        PlantedFault(
            "makes ids of the places in a batch",
            caughtBy: "delivery/same-ids-after-a-kill",
            .sending { sink, batch in
                var place = 0
                let numbered = batch.changed { envelope in
                    envelope.id = "\(batch[0].id)-\(place)"
                    place += 1
                }
                return await sink.deliver(numbered, as: batch)
            }
        ),
        PlantedFault(
            "names the user whose event is refused",
            caughtBy: "privacy/no-personal-data-in-failures-of-delivery",
            .sending { sink, batch in
                var report = await sink.deliver(batch)
                report.verdicts = .each(
                    zip(batch, report.verdicts(count: batch.count)).map { envelope, verdict in
                        guard case .failed(let reason) = verdict else { return verdict }
                        return .failed("\(reason) (\(envelope.identity.id))")
                    }
                )
                return report
            }
        ),
        PlantedFault(
            "names who couldn't be linked",
            caughtBy: "privacy/no-personal-data-in-errors-of-linking",
            .linking { linker, progress async throws(ExperimentationError) in
                do throws(ExperimentationError) { return try await linker.advance(progress) } catch {
                    throw ExperimentationError(error.code, "\(error.message) \(progress.criteria)")
                }
            }
        ),
        PlantedFault(
            "names the user for whom a redirect was answered",
            caughtBy: "privacy/no-personal-data-in-errors-of-reading",
            accusations: ["person-93f2a7"],
            asked
        ),
        PlantedFault(
            "tells the vendor who has left",
            caughtBy: "consent/nothing-but-the-signal",
            BentSubject.Bend(provider: { provider, _ in
                BentProvider(provider) { roles, _ in
                    guard let events = roles.events, let linker = roles.identity else { return }
                    roles.events = BentSink(inner: events) { sink, batch in
                        for envelope in batch where envelope.event.kind == .consentChanged(granted: false) {
                            var leave = LinkProgress(from: envelope.identity, to: envelope.identity)
                            while !leave.isComplete, let next = try? await linker.advance(leave) { leave = next }
                        }
                        return await sink.deliver(batch)
                    }
                }
            })
        ),
        PlantedFault(
            "takes a rule for met although it doesn't know one of its conditions",
            caughtBy: "malformed/unknown-beside-known",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in
                guard decisions["support"]?.variant == "rule-2" else { return decisions }
                return decisions.mapValues { $0 == "phone" ? "wrong" : $0 }
            }
        ),
    ]

    /// Asks the vendor for each user, and names the user in some errors.
    private static let asked: BentSubject.Bend = {
        var bend = BentSubject.Bend(provider: { provider, _ in
            BentProvider(provider) { roles, _ in
                if case .computed(let source) = roles.decisions { roles.decisions = .asked(AskedRules(inner: source)) }
                roles.assignments.isSticky = false
            }
        })
        bend.capabilities.subtract([.localEvaluation, .stickyAssignments])
        bend.providerCapabilities = bend.capabilities
        return bend
    }()

    private static func isAlike(_ one: Envelope, _ other: Envelope) -> Bool {
        one.event == other.event && one.identity == other.identity && one.event.type != "exposure"
    }
}

extension [Envelope] {
    fileprivate func changed(_ change: (inout Envelope) -> Void) -> [Envelope] {
        map { envelope in
            var envelope = envelope
            change(&envelope)
            return envelope
        }
    }
}

/// Rules that are fetched for each user, with errors that name the user of a redirect.
private struct AskedRules: DecisionSource {
    let inner: any RulesetSource
    var freshness: Freshness { inner.freshness }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        do throws(ExperimentationError) {
            guard case .replaced(let rules, _, _) = try await inner.ruleset(ifNot: nil) else { return .disabled }
            return .decided(rules.decisions(for: context))
        } catch {
            guard error.message.contains("redirects") else { throw error }
            throw ExperimentationError(error.code, "\(error.message) /users/\(context.user.id)")
        }
    }
}

extension EventSink {
    /// Delivers events that have other ids than those that the client knows.
    fileprivate func deliver(_ renamed: [Envelope], as known: [Envelope]) async -> DeliveryReport {
        var report = await deliver(renamed)
        report.campaigns = report.campaigns.map { received in
            var received = received
            if let index = renamed.firstIndex(where: { $0.id == received.eventID }) {
                received.eventID = known[index].id
            }
            return received
        }
        return report
    }
}
