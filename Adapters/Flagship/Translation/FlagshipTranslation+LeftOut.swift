import Experimentation

extension FlagshipTranslation {
    /// Returns, as sentences for the log, the parts of an event that its hits have no place for.
    static func leftOut(of event: TrackingEvent) -> [String] {
        var sentences: [String] = []
        func leaveOut(_ what: String, _ names: some Collection<String>) {
            guard !names.isEmpty else { return }
            sentences.append("\(what) have no place on the wire: \(names.sorted().joined(separator: ", "))")
        }
        if case .purchase(let order) = event.kind { leaveOut("its items' attributes", leftOut(of: order)) }
        leaveOut("its attributes", leftOutAttributes(of: event))
        return sentences
    }

    private static func leftOut(of order: Order) -> Set<String> {
        order.lines.map(\.item).reduce(into: []) { names, item in
            if item.kind != .product { names.insert("kind") }
            if let currency = item.currency, currency != order.currency { names.insert("currency") }
            if item.categories.count > 1 { names.insert("categories after the first") }
            names.formUnion(item.attributes.values.filter { $0.value != .null }.keys)
        }
    }

    private static func leftOutAttributes(of event: TrackingEvent) -> Set<String> {
        let attributes = Set(event.attributes.values.filter { $0.value != .null }.keys)
        if case .exposure = event.kind { return attributes.subtracting([FlagshipExposedVisitor.contextAttribute]) }
        guard var hit = (try? ownHits(of: event, id: ""))?.first else { return [] }
        let names = attributes.subtracting(hit.addCommon(event.attributes))
        return label(event) == nil ? names : names.subtracting(["label"])
    }
}
