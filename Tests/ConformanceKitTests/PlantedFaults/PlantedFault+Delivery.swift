import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation

/// Faults of delivery and the store.
extension PlantedFault {
    static let outages = ["outages/*", "delivery/*", "exposures/*", "ledger/*", "deadlines/*", "privacy/*"]

    static let delivery: [PlantedFault] = [
        PlantedFault(
            "drops on 503",
            caughtBy: "outages/ten-rounds-lose-nothing",
            alsoBlamedBy: outages + ["consent/*", "bounds/*"] + ["destinations/*"],
            .judging { if case .outage = $0 { .rejected("unavailable") } else { $0 } }
        ),
        PlantedFault(
            "tries again by itself",
            caughtBy: "outages/one-attempt-at-a-time",
            alsoBlamedBy: outages + ["consent/*", "bounds/*"],
            .sending { sink, batch in
                var report = await sink.deliver(batch)
                for _ in 0..<2 {
                    let outage = report.verdicts(count: batch.count).contains {
                        if case .outage = $0 { true } else { false }
                    }
                    guard outage else { break }
                    report = await sink.deliver(batch)
                }
                return report
            }
        ),
        PlantedFault(
            "gives up a batch that is too large",
            caughtBy: "outages/too-much-at-once",
            alsoBlamedBy: ["outages/too-large-by-itself"],
            .judging { if case .split = $0 { .rejected("too large") } else { $0 } }
        ),
        PlantedFault(
            "gives up an event that is refused once",
            caughtBy: "outages/refused-for-a-while",
            alsoBlamedBy: ["outages/poison-blocks-nobody", "outages/poison-in-a-batch"],
            .judging { if case .failed = $0 { .rejected("refused") } else { $0 } }
        ),
        PlantedFault(
            "gives up all that stands beside poison",
            caughtBy: "outages/poison-in-a-batch",
            .sending { sink, batch in
                var report = await sink.deliver(batch)
                report.verdicts = .each(
                    report.verdicts(count: batch.count).map { verdict in
                        if batch.count > 1, case .failed = verdict { .rejected("refused") } else { verdict }
                    }
                )
                return report
            }
        ),
        PlantedFault(
            "takes what is too large for an outage",
            caughtBy: "outages/too-large-by-itself",
            alsoBlamedBy: ["outages/too-much-at-once"],
            .judging { if case .split = $0 { .outage() } else { $0 } }
        ),
        PlantedFault(
            "hammers a vendor that fails",
            caughtBy: "outages/retries-slow-down",
            .judging { if case .outage(nil, _) = $0 { .outage(after: .seconds(1)) } else { $0 } }
        ),
        PlantedFault(
            "loses values and attributes, and hides it behind what the wire tells",
            caughtBy: "evaluation/declared-capabilities",
            accusations: ["gives no reason"],
            .narrow
        ),
        PlantedFault(
            "links somebody else",
            caughtBy: "identity/link",
            .linking { linker, progress async throws(ExperimentationError) in
                var other = progress
                other.from.id = "somebody"
                other.to.id = "somebody-else"
                var next = try await linker.advance(other)
                (next.from, next.to) = (progress.from, progress.to)
                return next
            }
        ),
        PlantedFault(
            "forgets how far a linking has come",
            caughtBy: "identity/link-cut-between-two-steps",
            .linking { linker, progress async throws(ExperimentationError) in
                var next = progress
                next.notes = []
                while !next.isComplete { next = try await linker.advance(next) }
                return next
            }
        ),
        PlantedFault(
            "links without telling the vendor",
            caughtBy: "identity/link",
            alsoBlamedBy: ["identity/*", "privacy/no-personal-data-in-errors-of-linking"],
            .init(provider: { provider, _ in
                BentProvider(provider) { roles, _ in roles.identity = BentLinker() }
            })
        ),
        PlantedFault(
            "acknowledges a redirect",
            caughtBy: "outages/not-delivered-by-a-redirect",
            .acknowledging("redirect")
        ),
        PlantedFault(
            "takes a login page for a delivery",
            caughtBy: "outages/not-delivered-by-a-login-page",
            .acknowledging("html200")
        ),
        PlantedFault(
            "takes a truncated answer for a success",
            caughtBy: "outages/not-delivered-by-a-truncated-answer",
            .acknowledging("truncate")
        ),
        PlantedFault(
            "takes a failure with 200 for a success",
            caughtBy: "outages/not-delivered-by-a-failure-with-200",
            .acknowledging("vendorFailure200")
        ),
        PlantedFault(
            "doesn't wait as long as it is asked to",
            caughtBy: "outages/retry-after-is-honoured",
            alsoBlamedBy: outages + ["consent/*", "bounds/*"],
            .judging { if case .outage = $0 { .outage(after: .milliseconds(1)) } else { $0 } }
        ),
        PlantedFault(
            "gives up when credentials are refused",
            caughtBy: "outages/refused-credentials-keep-everything",
            alsoBlamedBy: ["outages/credentials-refused-in-the-middle"],
            .judging { if case .stop = $0 { .rejected("unauthorized") } else { $0 } }
        ),
        PlantedFault(
            "sends a batch backwards",
            caughtBy: "delivery/in-order",
            alsoBlamedBy: [
                "delivery/*", "outages/*", "consent/*", "exposures/before-what-follows", "exposures/between-events*",
                "bounds/*", "deadlines/*", "ledger/*", "campaigns/*", "kill-switch/*",
            ] + ["destinations/*", "exposures/again-when-the-variation-changes", "stores/*", "users/events*"],
            .sending { sink, batch in await sink.deliver(batch.reversed()) }
        ),
        PlantedFault(
            "sends all exposures of a batch first",
            caughtBy: "exposures/between-events",
            alsoBlamedBy: ["exposures/between-events-through-an-outage"],
            .sending { sink, batch in
                let exposures = batch.indices.filter { batch[$0].event.type == "exposure" }
                let places = exposures + batch.indices.filter { batch[$0].event.type != "exposure" }
                var report = DeliveryReport(noAnswerTo: batch.count)
                report.add(await sink.deliver(places.map { batch[$0] }), at: places)
                return report
            }
        ),
        PlantedFault(
            "sends what came after an exposure that failed",
            caughtBy: "exposures/between-events-through-an-outage",
            .sending { sink, batch in
                var report = DeliveryReport(noAnswerTo: batch.count)
                var rest = batch[...]
                while let first = rest.first {
                    let run = rest.prefix { ($0.event.type == "exposure") == (first.event.type == "exposure") }
                    report.add(await sink.deliver(Array(run)), at: run.indices)
                    rest = rest.dropFirst(run.count)
                }
                return report
            }
        ),
        PlantedFault(
            "makes a new id for every attempt",
            caughtBy: "delivery/repetition-has-the-same-id",
            alsoBlamedBy: ["delivery/same-ids-after-a-kill"],
            .renaming
        ),
        PlantedFault(
            "sends everything in the name of one user",
            caughtBy: "delivery/whose-it-is",
            alsoBlamedBy: ["delivery/*", "exposures/say-who-saw-it", "events/*", "identity/*", "campaigns/*"] + [
                "exposures/both-ids-travel", "users/events*",
            ],
            .sending(each: { $0.identity.id = "somebody" })
        ),
        PlantedFault(
            "decomposes ids",
            caughtBy: "delivery/ids-of-every-script",
            .sending(each: { $0.identity.id = $0.identity.id.decomposedStringWithCanonicalMapping })
        ),
        PlantedFault(
            "decomposes events' names",
            caughtBy: "events/odd-texts",
            .sending(each: { envelope in
                guard case .custom(let name, let value) = envelope.event.kind else { return }
                envelope.event.kind = .custom(name: name.decomposedStringWithCanonicalMapping, value: value)
            })
        ),
        PlantedFault(
            "loses the anonymous id",
            caughtBy: "identity/both-ids-travel",
            alsoBlamedBy: ["exposures/both-ids-travel", "events/*"],
            .sending(each: { $0.identity.anonymousID = nil })
        ),
        PlantedFault(
            "loses an event's attributes",
            caughtBy: "events/attributes-of-an-event",
            alsoBlamedBy: ["events/attributes-*"],
            .sending(each: { $0.event.attributes = [:] })
        ),
        PlantedFault(
            "takes what it has no word for, and drops it",
            caughtBy: "events/favorite",
            .sending { sink, batch in
                let places = batch.indices.filter { batch[$0].event.type != "favorite" }
                var report = DeliveryReport(batch.map { _ in .delivered })
                report.add(await sink.deliver(places.map { batch[$0] }), at: places)
                return report
            }
        ),
        PlantedFault(
            "has forgotten every word for an event",
            caughtBy: "delivery/one-event",
            alsoBlamedBy: ["events/commerce", "campaigns/*"],
            accusations: ["refuses every event", "takes no event", "has no word for"],
            .forgetful
        ),
        PlantedFault(
            "gives an order another id",
            caughtBy: "events/purchase",
            .sending(each: { envelope in
                guard case .purchase(var order) = envelope.event.kind else { return }
                order.id = envelope.id
                envelope.event.kind = .purchase(order)
            })
        ),
    ]

    static let storage: [PlantedFault] = [
        PlantedFault(
            "acknowledges before commit",
            caughtBy: "delivery/survives-a-kill",
            alsoBlamedBy: ["consent/*", "delivery/*", "exposures/survive-a-kill", "bounds/too-large"] + [
                "exposures/*", "outages/credentials-refused-in-the-middle", "destinations/*", "events/*",
                "kill-switch/*",
            ],
            .keeping(.acknowledgesBeforeCommit)
        ),
        PlantedFault(
            "wipes on retry",
            caughtBy: "outages/not-delivered-by-a-500",
            alsoBlamedBy: outages + ["consent/*", "bounds/*", "kill-switch/*"] + ["destinations/*"],
            .keeping(.wipesOnRetry)
        ),
        PlantedFault(
            "ignores that consent was withdrawn",
            caughtBy: "consent/denied-purges",
            alsoBlamedBy: ["consent/*", "exposures/*"],
            .keeping(.ignoresPurge)
        ),
        PlantedFault(
            "ignores that consent is unknown",
            caughtBy: "consent/unknown",
            alsoBlamedBy: ["consent/*", "exposures/unknown-consent"],
            .keeping(.ignoresHolding)
        ),
        PlantedFault(
            "never lets go of what was held",
            caughtBy: "consent/granted-lets-go",
            alsoBlamedBy: ["consent/*", "exposures/unknown-consent"],
            .keeping(.neverReleases)
        ),
        PlantedFault(
            "counts one event too many",
            caughtBy: "delivery/one-event",
            accusations: ["ledger"],
            .keeping(.miscounts)
        ),
        PlantedFault(
            "stamps events anew",
            caughtBy: "delivery/original-time",
            alsoBlamedBy: [
                "consent/granted-with-original-times", "delivery/each-at-its-time", "exposures/original-time",
                "events/*",
            ],
            .keeping(.restamps)
        ),
    ]
}

extension BentSubject.Bend {
    /// Rejects all tracked events, although it declares to accept them.
    fileprivate static let forgetful = BentSubject.Bend(provider: { provider, _ in
        BentProvider(provider) { roles, _ in
            guard let events = roles.events else { return }
            roles.events = BentSink(inner: events, refuses: { $0 != "exposure" && $0 != "consentChanged" })
        }
    })

    /// Drops an event's content, and claims that its wire can't carry it.
    fileprivate static let narrow: BentSubject.Bend = {
        var bend = BentSubject.Bend.sending(each: { envelope in
            envelope.event.attributes = [:]
            if case .custom(let name, _) = envelope.event.kind { envelope.event.kind = .custom(name: name, value: nil) }
        })
        bend.wireFields.subtract([.value, .attributes])
        return bend
    }()

    /// Changes an event's id each time it is sent.
    fileprivate static let renaming = BentSubject.Bend(provider: { provider, stage in
        BentProvider(provider) { roles, _ in
            guard let events = roles.events else { return }
            roles.events = BentSink(inner: events) { sink, batch in
                let attempt = (try? await stage.exchanges().count) ?? 0
                let renamed = batch.map { envelope in
                    var envelope = envelope
                    envelope.id += "-\(attempt)"
                    return envelope
                }
                var report = await sink.deliver(renamed)
                report.campaigns = report.campaigns.map { received in
                    var received = received
                    if let index = renamed.firstIndex(where: { $0.id == received.eventID }) {
                        received.eventID = batch[index].id
                    }
                    return received
                }
                return report
            }
        }
    })
}
