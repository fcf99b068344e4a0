"""The currencies in use, by their codes of ISO 4217. Codes of metals, funds, accounting units and tests are not money that is paid."""

from __future__ import annotations

_CODES = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK
    DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS
    KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD
    OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP
    TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""

CURRENCIES = frozenset(_CODES.split())
"""Since 2025 XCG stands for ANG, since 2024 SLE for SLL and ZWG for ZWL, and EUR for HRK (2023) and BGN (2026).
Source: ISO 4217, list one (https://www.six-group.com/en/products-services/financial-information/data-standards.html), known 2026-11."""


def is_currency(code: str) -> bool:
    """Whether a code is that of a currency in use."""
    return code in CURRENCIES
