import Experimentation
import Foundation

extension ConformanceCase {
    /// Cases for capabilities that no other line of the contract covers, so that each is checked, declared or not.
    static let declarations: [ConformanceCase] = [
        ConformanceCase(
            "evaluation/metadata",
            promise: 4,
            "An experiment's value has metadata besides its variant",
            requires: [.flags, .experiments, .flagMetadata],
            needs: ["flags/checkout-color", "experiments/checkout"],
            probes: .flagMetadata,
            world: .shop
        ) { probe in
            let session = try await probe.readySession()
            let details = session.details("checkout-color", default: "none")
            probe.expect(details.value, equals: "green", "the value")
            probe.expect(!details.metadata.isEmpty, "the metadata is empty")
            let missing = session.details("nobody-knows-it", default: "none")
            probe.expect(missing.metadata, equals: [:], "the metadata of a flag that doesn't exist")
        },
        ConformanceCase(
            "evaluation/metadata-of-a-plain-flag",
            promise: 4,
            "A plain flag's value has metadata besides its variant, unless only experiments' values have any",
            requires: [.flags, .flagMetadata],
            needs: ["flags/welcome"],
            probes: .flagMetadata,
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            let details = session.details("welcome", default: "none")
            probe.expect(details.value, equals: "Hello!", "the value")
            let missing = session.details("nobody-knows-it", default: "none")
            probe.expect(missing.metadata, equals: [:], "the metadata of a flag that doesn't exist")
            if details.metadata.isEmpty, probe.subject.capabilities.contains(.experiments) {
                throw CaseDoesNotApply("\(probe.subject.name)'s metadata is about experiments")
            }
            probe.expect(!details.metadata.isEmpty, "the metadata is empty")
        },
        ConformanceCase(
            "evaluation/decided-here",
            promise: 7,
            "With local decisions, another user gets decisions while the vendor is unreachable",
            requires: [.flags, .localEvaluation],
            needs: ["flags/welcome"],
            probes: .localEvaluation,
            world: .shop
        ) { probe in
            let session = try await probe.readySession()
            let other = try await probe.session(for: .ben)
            try await probe.setReachable(false)
            // Refreshing may fail, but everything needed for a decision is on the device.
            await probe.refresh(other)
            probe.expect(other.string("welcome", default: "none"), equals: "Hello!", "what another user reads")
            probe.expect(session.string("welcome", default: "none"), equals: "Hello!", "what the first user reads")
        },
        ConformanceCase(
            "events/commerce",
            promise: 11,
            "Item views, carts and orders are accepted and arrive, each in its own form",
            requires: [.tracking, .commerce],
            probes: .commerce,
            world: .shop
        ) { probe in
            let line = LineItem(item: .mug, quantity: 2)
            let events: [TrackingEvent] = [
                .viewItem(.mug), .addToCart(line), .removeFromCart(line), .replaceCart([line]),
                .purchase(Order(id: "order-77", lines: [line], total: 20, currency: "EUR")),
            ]
            let session = try await probe.session()
            for event in events {
                do throws(ExperimentationError) { try await session.track(event) } catch {
                    probe.fail("\(event.type) is refused: \(error)")
                }
            }
            let ledger = try await probe.deliverAll()
            probe.expect(ledger, equals: Ledger(accepted: events.count, delivered: events.count), "the ledger")
            let types = Set(try await probe.received().map(\.type))
            probe.expect(types.isSuperset(of: events.map(\.type)), "what the vendor took: \(types.sorted())")
        },
    ]
}
