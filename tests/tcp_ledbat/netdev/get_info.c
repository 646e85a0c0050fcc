/*
 * Asked without the socket's lock: meanwhile the state may be that of another
 * control, so nothing in it bounds a loop or divides.
 */
static size_t ledbat_get_info(struct sock *sk, u32 ext, int *attr,
			      union tcp_cc_info *info)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct ledbat ca = *(const struct ledbat *)inet_csk_ca(sk);
	const u32 unit_us = ledbat_unit_us(tp, &ca);
	const bool sane = ca.used <= LEDBAT_MAX_SLOTS &&
			  ca.recent <= LEDBAT_MAX_FILTER;

	if (!(ext & (BIT(INET_DIAG_LEDBATINFO - 1) |
		     BIT(INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->ledbat, 0, sizeof(info->ledbat));
	info->ledbat.ledbat_target = ca.target_us;
	info->ledbat.ledbat_one_way = ca.one_way;
	if (ca.used && sane) {
		info->ledbat.ledbat_base_delay = ledbat_base(&ca) * unit_us;
		info->ledbat.ledbat_current_delay = ledbat_current(&ca) *
						    unit_us;
		info->ledbat.ledbat_queuing_delay = ledbat_queuing_us(tp, &ca);
	}
	*attr = INET_DIAG_LEDBATINFO;
	return sizeof(info->ledbat);
}

