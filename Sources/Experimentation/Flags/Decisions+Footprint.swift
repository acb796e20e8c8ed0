extension Decisions {
    /// The approximate memory of these decisions in bytes, without shared rules.
    ///
    /// A catalogue that gives each flag a single value belongs to one user, and counts.
    var footprint: Int {
        let isShared = catalogue.keys.indices.contains { catalogue.outcomeCount(ofFlag: $0) > 1 }
        if isShared { return 64 + catalogue.count }
        var bytes = 256 + catalogue.assignments.count * 400
        for flag in catalogue.keys.indices {
            bytes += 320 + 2 * catalogue.keys[flag].utf8.count
            guard let resolution = catalogue.resolution(ofFlag: flag, outcome: 0) else { continue }
            bytes += resolution.value.footprint + FlagValue.object(resolution.metadata).footprint
            bytes += resolution.variant?.utf8.count ?? 0
        }
        return bytes
    }
}

extension FlagValue {
    /// The approximate memory of a value in bytes, beyond its inline size.
    var footprint: Int {
        var bytes = 0
        var rest = [self]
        while let value = rest.popLast() {
            switch value {
            case .string(let text): bytes += text.utf8.count < 16 ? 0 : 32 + text.utf8.count
            case .array(let values):
                bytes += 32 + values.count * 32
                rest += values
            case .object(let values):
                if values.isEmpty { continue }
                bytes += 64 + values.count * 96
                for (name, value) in values {
                    bytes += name.utf8.count < 16 ? 0 : 32 + name.utf8.count
                    rest.append(value)
                }
            default: continue
            }
        }
        return bytes
    }
}
